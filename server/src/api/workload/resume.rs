//! REST operation: resume workload.

use axum::Json;
use axum::extract::State;
use domain::suspension::{ResumeRequest, SuspensionDetails};
use hub::Hub;

use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Ends the suspension of a workload on all its clusters, or of the workload on some clusters alone. Returns what changes on each.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/resume",
    tag = "workloads",
    request_body = ResumeRequest,
    responses((status = 200, body = SuspensionDetails))
)]
pub async fn resume_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Body(request): Body<ResumeRequest>,
) -> Result<Json<SuspensionDetails>, ApiError> {
    Ok(Json(hub.resume_workload(&actor, &path.workload, &request).await?))
}
