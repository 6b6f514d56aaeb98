//! REST operation: delete user token.

use axum::extract::State;
use axum::http::StatusCode;
use domain::TokenId;
use hub::Hub;

use super::UserCredentialPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Revokes an API token of a user: requests with it are rejected at once.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{user}/tokens/{id}",
    tag = "users",
    responses((status = 204, description = "The token is revoked"))
)]
pub async fn delete_user_token(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserCredentialPath>,
) -> Result<StatusCode, ApiError> {
    let id: TokenId = path.id.parse().map_err(|_| hub::Error::not_found("token", path.id))?;
    hub.delete_user_token(&actor, &path.user, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
