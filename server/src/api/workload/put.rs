//! REST operation: put workload.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::{Hub, WorkloadEdit};
use wire::{Problem, WorkloadPut};

use crate::content_json::ContentJson;
use crate::etag::{RequiredIfMatch, etag_header};
use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Replaces the draft. `If-Match` is required, so that a draft that was not read can't be replaced by accident.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    params(("If-Match" = String, Header, description = "The ETag that was read, or `*`")),
    request_body = WorkloadPut,
    responses(
        (status = 200, body = Workload, headers(("ETag"))),
        (status = 412, body = Problem, content_type = "application/problem+json", description = "The draft has changed since it was read")
    )
)]
pub async fn put_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    RequiredIfMatch(expected): RequiredIfMatch,
    Body(put): Body<WorkloadPut>,
) -> Result<(HeaderMap, ContentJson<Workload>), ApiError> {
    let edit = WorkloadEdit { spec: Some(put.spec), labels: put.labels, owners: put.owners };
    let workload = hub.edit_workload(&actor, &path.workload, edit, expected).await?;
    Ok((etag_header(workload.revision), ContentJson(workload)))
}
