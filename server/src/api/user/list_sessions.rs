//! REST operation: list user sessions.

use axum::Json;
use axum::extract::State;
use domain::session::UserSession;
use hub::Hub;

use super::UserPath;
use crate::input::{Caller, CurrentSession, Path};
use crate::problem::ApiError;

/// The sessions of a user in the console, at most 200, last used first.
#[utoipa::path(
    get,
    path = "/api/v1/users/{user}/sessions",
    tag = "users",
    responses((status = 200, body = Vec<UserSession>))
)]
pub async fn list_user_sessions(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    CurrentSession(current): CurrentSession,
    Path(path): Path<UserPath>,
) -> Result<Json<Vec<UserSession>>, ApiError> {
    Ok(Json(hub.list_user_sessions(&actor, &path.user, current.as_deref()).await?))
}
