//! REST operation: unpublish workload.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::request::RemovalOptions;
use domain::workload::{RemovedWorkload, WorkloadHead};
use hub::Hub;

use crate::etag::etag_header;
use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Removes the workload from every cluster; the draft stays.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/unpublish",
    tag = "workloads",
    request_body = RemovalOptions,
    responses((status = 202, body = WorkloadHead, headers(("ETag")), description = "In progress; see the status. The whole workload, or these fields of it if the rest can't be read"))
)]
pub async fn unpublish_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Body(removal): Body<RemovalOptions>,
) -> Result<(StatusCode, HeaderMap, Json<RemovedWorkload>), ApiError> {
    let workload = hub.unpublish_workload(&actor, &path.workload, removal).await?;
    Ok((StatusCode::ACCEPTED, etag_header(workload.revision()), Json(workload)))
}
