//! REST operation: sync workload.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::{SyncRequest, SyncResponse};

use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Requests an immediate sync of the given clusters. Never adds a target (S1-9b).
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/sync",
    tag = "workloads",
    request_body = SyncRequest,
    responses((status = 202, body = SyncResponse))
)]
pub async fn sync_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Body(request): Body<SyncRequest>,
) -> Result<(StatusCode, Json<SyncResponse>), ApiError> {
    let requested = hub.sync_workload(&actor, &path.workload, &request.clusters).await?;
    Ok((StatusCode::ACCEPTED, Json(SyncResponse { requested })))
}
