//! REST operation: delete workload.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::request::RemovalOptions;
use domain::workload::{RemovedWorkload, WorkloadHead};
use hub::Hub;

use crate::etag::etag_header;
use crate::input::{Caller, Path, Query, WorkloadPath};
use crate::problem::ApiError;

/// Removes the workload from every cluster and deletes it once no release is left.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    params(RemovalOptions),
    responses((status = 202, body = WorkloadHead, headers(("ETag")), description = "In progress; see the status. The whole workload, or these fields of it if the rest can't be read"))
)]
pub async fn delete_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Query(removal): Query<RemovalOptions>,
) -> Result<(StatusCode, HeaderMap, Json<RemovedWorkload>), ApiError> {
    let workload = hub.delete_workload(&actor, &path.workload, removal).await?;
    Ok((StatusCode::ACCEPTED, etag_header(workload.revision()), Json(workload)))
}
