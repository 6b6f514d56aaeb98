//! REST operation: create channel.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::notification::{Channel, NewChannel};
use hub::Hub;

use crate::input::{Body, Caller};
use crate::problem::ApiError;

/// Creates a channel. Its secret, and the address if that contains one, are stored encrypted and never returned.
#[utoipa::path(
    post,
    path = "/api/v1/channels",
    tag = "notifications",
    request_body = NewChannel,
    responses((status = 201, body = Channel))
)]
pub async fn create_channel(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Body(new): Body<NewChannel>,
) -> Result<(StatusCode, Json<Channel>), ApiError> {
    Ok((StatusCode::CREATED, Json(hub.create_channel(&actor, new).await?)))
}
