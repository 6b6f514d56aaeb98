//! REST operation: list channels.

use axum::Json;
use axum::extract::State;
use domain::notification::Channel;
use hub::Hub;

use crate::problem::ApiError;

/// The channels, by name, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/channels",
    tag = "notifications",
    responses((status = 200, body = Vec<Channel>))
)]
pub async fn list_channels(State(hub): State<Hub>) -> Result<Json<Vec<Channel>>, ApiError> {
    Ok(Json(hub.list_channels().await?))
}
