//! REST operation: delete channel.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use super::ChannelPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Deletes a channel with its subscriptions and the messages that wait for it.
#[utoipa::path(
    delete,
    path = "/api/v1/channels/{channel}",
    tag = "notifications",
    responses((status = 204, description = "The channel is deleted"))
)]
pub async fn delete_channel(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ChannelPath>,
) -> Result<StatusCode, ApiError> {
    hub.delete_channel(&actor, &path.channel).await?;
    Ok(StatusCode::NO_CONTENT)
}
