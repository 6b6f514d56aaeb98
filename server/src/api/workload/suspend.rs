//! REST operation: suspend workload.

use axum::Json;
use axum::extract::State;
use domain::suspension::{SuspendRequest, SuspensionDetails};
use hub::Hub;

use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Suspends a workload on all its clusters, or on some: nothing of it is applied, reverted or deleted there until it is resumed. Drift is
/// still reported, and what is published meanwhile waits. It is no removal.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/suspend",
    tag = "workloads",
    request_body = SuspendRequest,
    responses((status = 200, body = SuspensionDetails))
)]
pub async fn suspend_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Body(request): Body<SuspendRequest>,
) -> Result<Json<SuspensionDetails>, ApiError> {
    Ok(Json(hub.suspend_workload(&actor, &path.workload, &request).await?))
}
