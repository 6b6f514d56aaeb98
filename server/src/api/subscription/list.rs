//! REST operation: list subscriptions.

use axum::Json;
use axum::extract::State;
use domain::notification::Subscription;
use hub::Hub;

use crate::problem::ApiError;

/// The subscriptions, oldest first.
#[utoipa::path(
    get,
    path = "/api/v1/subscriptions",
    tag = "notifications",
    responses((status = 200, body = Vec<Subscription>))
)]
pub async fn list_subscriptions(State(hub): State<Hub>) -> Result<Json<Vec<Subscription>>, ApiError> {
    Ok(Json(hub.list_subscriptions().await?))
}
