//! REST operation: revert drift.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::drift::DriftItem;
use hub::Hub;

use super::DriftPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Requests the cluster to apply the workload again now, whatever its drift policy is: everything that drifts in this workload on this
/// cluster is reverted, and a contested field is tried again. The entry ends with the next report of the cluster.
#[utoipa::path(
    post,
    path = "/api/v1/drift/{drift}/-/revert",
    tag = "drift",
    responses((status = 202, body = DriftItem))
)]
pub async fn revert_drift(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<DriftPath>,
) -> Result<(StatusCode, Json<DriftItem>), ApiError> {
    Ok((StatusCode::ACCEPTED, Json(hub.revert_drift(&actor, path.id()?).await?)))
}
