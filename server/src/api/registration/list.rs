//! REST operation: list registrations.

use axum::Json;
use axum::extract::State;
use domain::join::Registration;
use hub::Hub;

use crate::problem::ApiError;

/// Pending and rejected registrations of agents, oldest first.
#[utoipa::path(
    get,
    path = "/api/v1/registrations",
    tag = "clusters",
    responses((status = 200, body = Vec<Registration>))
)]
pub async fn list_registrations(State(hub): State<Hub>) -> Result<Json<Vec<Registration>>, ApiError> {
    Ok(Json(hub.list_registrations().await?))
}
