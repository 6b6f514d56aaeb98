//! `POST …/workloads/{workload}:sync`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;
use wire::{Problem, SyncRequest, SyncResponse};

use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Requests an immediate sync of the given clusters. Never adds a target (S1-9b).
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/sync",
    tag = "workloads",
    operation_id = "syncWorkload",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is executed once per key")
    ),
    request_body = SyncRequest,
    responses(
        (status = 202, body = SyncResponse),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Body(request): Body<SyncRequest>,
) -> Result<(StatusCode, Json<SyncResponse>), ApiError> {
    let requested = hub.sync_workload(&actor, &path.workload, &request.clusters).await?;
    Ok((StatusCode::ACCEPTED, Json(SyncResponse { requested })))
}
