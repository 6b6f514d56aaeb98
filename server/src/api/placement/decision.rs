//! REST operation: get placement decision.

use axum::Json;
use axum::extract::State;
use domain::placement::Decision;
use hub::Hub;

use crate::input::{Path, WorkloadPath};
use crate::problem::ApiError;

/// The last placement decision of this workload: per cluster the result of each filter, with expected and actual values.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/placement",
    tag = "placement",
    responses((status = 200, body = Decision))
)]
pub async fn get_placement_decision(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
) -> Result<Json<Decision>, ApiError> {
    Ok(Json(hub.get_placement_decision(&path.workload).await?))
}
