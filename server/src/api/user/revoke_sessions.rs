//! REST operation: revoke user sessions.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use super::UserPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Ends all sessions of a user. API tokens of the user stay valid.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{user}/sessions",
    tag = "users",
    responses((status = 204, description = "The sessions have ended"))
)]
pub async fn revoke_user_sessions(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<UserPath>,
) -> Result<StatusCode, ApiError> {
    hub.revoke_user_sessions(&actor, &path.user).await?;
    Ok(StatusCode::NO_CONTENT)
}
