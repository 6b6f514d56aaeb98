//! REST operation: snooze drift.

use axum::Json;
use axum::extract::State;
use domain::drift::{DriftItem, DriftSnoozeRequest};
use hub::Hub;

use super::DriftPath;
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Hides an entry until a time within the next 30 days, unless its fields change before; without `until` it is shown again.
#[utoipa::path(
    post,
    path = "/api/v1/drift/{drift}/-/snooze",
    tag = "drift",
    request_body = DriftSnoozeRequest,
    responses((status = 200, body = DriftItem))
)]
pub async fn snooze_drift(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DriftPath>,
    Body(request): Body<DriftSnoozeRequest>,
) -> Result<Json<DriftItem>, ApiError> {
    Ok(Json(hub.snooze_drift(&actor, path.id()?, &request).await?))
}
