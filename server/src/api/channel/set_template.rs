//! REST operation: set channel template.

use axum::Json;
use axum::extract::State;
use domain::notification::{Channel, ChannelTemplate};
use hub::Hub;

use super::ChannelPath;
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Sets the template for the texts of a channel's messages; an empty one removes it. One that is not valid is refused with line and cause.
#[utoipa::path(
    put,
    path = "/api/v1/channels/{channel}/template",
    tag = "notifications",
    request_body = ChannelTemplate,
    responses((status = 200, body = Channel))
)]
pub async fn set_channel_template(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ChannelPath>,
    Body(change): Body<ChannelTemplate>,
) -> Result<Json<Channel>, ApiError> {
    Ok(Json(hub.set_channel_template(&actor, &path.channel, change).await?))
}
