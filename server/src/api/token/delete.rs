//! `DELETE /tokens/{id}`

use axum::extract::State;
use axum::http::StatusCode;
use domain::TokenId;
use hub::Hub;
use serde::Deserialize;
use wire::Problem;

use crate::input::{At, Caller};
use crate::problem::Refusal;

/// A token.
#[derive(Debug, Deserialize)]
pub struct OfToken {
    /// Its id, as text: another text is a token that is not there.
    id: String,
}

/// Ends a token of the caller.
#[utoipa::path(
    delete,
    path = "/api/v1/tokens/{id}",
    tag = "tokens",
    operation_id = "tokenDelete",
    params(("id" = String, Path)),
    responses(
        (status = 204, description = "It is over"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfToken>,
) -> Result<StatusCode, Refusal> {
    let id: TokenId = of.id.parse().map_err(|_| hub::Error::not_found("token", of.id))?;
    hub.token_delete(&actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
