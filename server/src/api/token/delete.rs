//! REST operation: delete token.

use axum::extract::State;
use axum::http::StatusCode;
use domain::TokenId;
use hub::Hub;
use serde::Deserialize;

use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Path parameters of an API token.
#[derive(Debug, Deserialize)]
pub struct TokenPath {
    /// Its id, as text: an unparsable id is answered with 404.
    id: String,
}

/// Revokes a token of the caller.
#[utoipa::path(
    delete,
    path = "/api/v1/tokens/{id}",
    tag = "tokens",
    responses((status = 204, description = "The token is revoked"))
)]
pub async fn delete_token(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<TokenPath>,
) -> Result<StatusCode, ApiError> {
    let id: TokenId = path.id.parse().map_err(|_| hub::Error::not_found("token", path.id))?;
    hub.delete_token(&actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
