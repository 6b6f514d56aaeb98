//! REST operation: get the suspension of a workload.

use axum::Json;
use axum::extract::State;
use domain::suspension::SuspensionDetails;
use hub::Hub;

use crate::input::{Path, WorkloadPath};
use crate::problem::ApiError;

/// What is suspended of a workload, and what a resume would change on each cluster.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/suspension",
    tag = "workloads",
    responses((status = 200, body = SuspensionDetails))
)]
pub async fn get_workload_suspension(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
) -> Result<Json<SuspensionDetails>, ApiError> {
    Ok(Json(hub.get_workload_suspension(&path.workload).await?))
}
