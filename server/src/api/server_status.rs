//! REST operation: get server status.

use axum::Json;
use axum::extract::State;
use domain::server_status::ServerStatus;
use hub::Hub;

use crate::problem::ApiError;

/// Version, database, background tasks and their queues, of the server that answers. `/readyz` and `/metrics` are for
/// machines.
#[utoipa::path(
    get,
    path = "/api/v1/server-status",
    tag = "server",
    responses((status = 200, body = ServerStatus))
)]
pub async fn get_server_status(State(hub): State<Hub>) -> Result<Json<ServerStatus>, ApiError> {
    Ok(Json(hub.get_server_status().await?))
}
