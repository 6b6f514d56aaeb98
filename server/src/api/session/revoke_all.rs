//! REST operation: revoke sessions.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use crate::input::{Caller, CurrentSession};
use crate::problem::ApiError;

/// Ends all sessions of the caller, except that of the request if it has one.
#[utoipa::path(
    delete,
    path = "/api/v1/sessions",
    tag = "sessions",
    responses((status = 204, description = "The sessions have ended"))
)]
pub async fn revoke_sessions(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    CurrentSession(current): CurrentSession,
) -> Result<StatusCode, ApiError> {
    hub.revoke_other_sessions(&actor, current.as_deref()).await?;
    Ok(StatusCode::NO_CONTENT)
}
