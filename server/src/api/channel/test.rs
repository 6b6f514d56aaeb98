//! REST operation: test channel.

use axum::Json;
use axum::extract::State;
use domain::notification::ChannelTestResult;
use hub::Hub;

use super::ChannelPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Sends a message to a channel now, and returns the outcome. After a success, what waits for the channel is sent.
#[utoipa::path(
    post,
    path = "/api/v1/channels/{channel}/-/test",
    tag = "notifications",
    responses((status = 200, body = ChannelTestResult))
)]
pub async fn test_channel(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ChannelPath>,
) -> Result<Json<ChannelTestResult>, ApiError> {
    Ok(Json(hub.test_channel(&actor, &path.channel).await?))
}
