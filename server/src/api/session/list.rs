//! REST operation: list sessions.

use axum::Json;
use axum::extract::State;
use domain::session::UserSession;
use hub::Hub;

use crate::input::{Caller, CurrentSession};
use crate::problem::ApiError;

/// The caller's sessions in the console, at most 200: that of the request first, then the last used ones.
#[utoipa::path(
    get,
    path = "/api/v1/sessions",
    tag = "sessions",
    responses((status = 200, body = Vec<UserSession>))
)]
pub async fn list_sessions(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    CurrentSession(current): CurrentSession,
) -> Result<Json<Vec<UserSession>>, ApiError> {
    Ok(Json(hub.list_sessions(&actor, current.as_deref()).await?))
}
