//! REST operation: revoke join token.

use axum::extract::State;
use axum::http::StatusCode;
use domain::JoinTokenId;
use hub::Hub;
use serde::Deserialize;

use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Path parameters of a join token.
#[derive(Debug, Deserialize)]
pub struct JoinTokenPath {
    /// Its id, as text: an unparsable id is answered with 404.
    id: String,
}

/// Revokes a join token; clusters that joined with it stay.
#[utoipa::path(
    delete,
    path = "/api/v1/join-tokens/{id}",
    tag = "clusters",
    responses((status = 204, description = "The token is revoked"))
)]
pub async fn revoke_join_token(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<JoinTokenPath>,
) -> Result<StatusCode, ApiError> {
    let id: JoinTokenId = path.id.parse().map_err(|_| hub::Error::not_found("join token", path.id))?;
    hub.revoke_join_token(&actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
