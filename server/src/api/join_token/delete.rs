//! `DELETE /join-tokens/{id}`

use axum::extract::State;
use axum::http::StatusCode;
use domain::JoinTokenId;
use hub::Hub;
use serde::Deserialize;
use wire::Problem;

use crate::input::{At, Caller};
use crate::problem::Refusal;

/// A join token.
#[derive(Debug, Deserialize)]
pub struct OfJoinToken {
    /// Its id, as text: another text is a token that is not there.
    id: String,
}

/// Ends a join token; clusters that joined with it stay.
#[utoipa::path(
    delete,
    path = "/api/v1/join-tokens/{id}",
    tag = "clusters",
    operation_id = "joinTokenRevoke",
    params(("id" = String, Path)),
    responses(
        (status = 204, description = "It is over"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfJoinToken>,
) -> Result<StatusCode, Refusal> {
    let id: JoinTokenId = of.id.parse().map_err(|_| hub::Error::not_found("join token", of.id))?;
    hub.join_token_revoke(&actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
