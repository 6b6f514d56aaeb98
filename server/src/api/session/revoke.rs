//! REST operation: revoke session.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use serde::Deserialize;

use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Path parameters of a session.
#[derive(Debug, Deserialize)]
pub struct SessionPath {
    /// Its id.
    id: String,
}

/// Ends a session of the caller: its browser has to sign in again.
#[utoipa::path(
    delete,
    path = "/api/v1/sessions/{id}",
    tag = "sessions",
    responses((status = 204, description = "The session has ended"))
)]
pub async fn revoke_session(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<SessionPath>,
) -> Result<StatusCode, ApiError> {
    hub.revoke_session(&actor, &path.id).await?;
    Ok(StatusCode::NO_CONTENT)
}
