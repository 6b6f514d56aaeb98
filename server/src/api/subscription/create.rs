//! REST operation: create subscription.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::notification::{NewSubscription, Subscription};
use hub::Hub;

use crate::input::{Body, Caller};
use crate::problem::ApiError;

/// Sends the incidents of a workload, of the workloads of an owner or of those with labels, or the end of the own publishes, to a
/// channel. If there is such a subscription, it gets these quiet hours.
#[utoipa::path(
    post,
    path = "/api/v1/subscriptions",
    tag = "notifications",
    request_body = NewSubscription,
    responses((status = 201, body = Subscription))
)]
pub async fn create_subscription(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Body(new): Body<NewSubscription>,
) -> Result<(StatusCode, Json<Subscription>), ApiError> {
    Ok((StatusCode::CREATED, Json(hub.create_subscription(&actor, new).await?)))
}
