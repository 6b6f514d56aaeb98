//! REST operation: retain workload.

use axum::Json;
use axum::extract::State;
use hub::Hub;
use wire::{RetainRequest, RetainResponse};

use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Cancels pending removals on clusters that no longer match the placement, until the next publish (E-6).
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/retain",
    tag = "workloads",
    request_body = RetainRequest,
    responses((status = 200, body = RetainResponse))
)]
pub async fn retain_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Body(request): Body<RetainRequest>,
) -> Result<Json<RetainResponse>, ApiError> {
    let retained = hub.retain_workload(&actor, &path.workload, &request.clusters).await?;
    Ok(Json(RetainResponse { retained }))
}
