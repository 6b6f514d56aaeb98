//! REST operation: get channel.

use axum::Json;
use axum::extract::State;
use domain::notification::Channel;
use hub::Hub;

use super::ChannelPath;
use crate::input::Path;
use crate::problem::ApiError;

/// One channel, without its secrets.
#[utoipa::path(
    get,
    path = "/api/v1/channels/{channel}",
    tag = "notifications",
    responses((status = 200, body = Channel))
)]
pub async fn get_channel(
    State(hub): State<Hub>,
    Path(path): Path<ChannelPath>,
) -> Result<Json<Channel>, ApiError> {
    Ok(Json(hub.get_channel(&path.channel).await?))
}
