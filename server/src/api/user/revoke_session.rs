//! REST operation: revoke user session.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use super::UserCredentialPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Ends a session of a user: its browser has to sign in again.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{user}/sessions/{id}",
    tag = "users",
    responses((status = 204, description = "The session has ended"))
)]
pub async fn revoke_user_session(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserCredentialPath>,
) -> Result<StatusCode, ApiError> {
    hub.revoke_user_session(&actor, &path.user, &path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
