//! REST operation: delete subscription.

use axum::extract::State;
use axum::http::StatusCode;
use domain::SubscriptionId;
use hub::Hub;
use serde::Deserialize;

use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Path parameters of a subscription.
#[derive(Debug, Deserialize)]
pub struct SubscriptionPath {
    /// Its id, as text: an unparsable id is answered with 404.
    subscription: String,
}

/// Deletes a subscription. Messages about open incidents are still sent.
#[utoipa::path(
    delete,
    path = "/api/v1/subscriptions/{subscription}",
    tag = "notifications",
    responses((status = 204, description = "The subscription is deleted"))
)]
pub async fn delete_subscription(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<SubscriptionPath>,
) -> Result<StatusCode, ApiError> {
    let id: SubscriptionId = path
        .subscription
        .parse()
        .map_err(|_| hub::Error::not_found("subscription", path.subscription.as_str()))?;
    hub.delete_subscription(&actor, id).await?;
    Ok(StatusCode::NO_CONTENT)
}
