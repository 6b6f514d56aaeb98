//! REST operation: patch workload.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::{Hub, WorkloadEdit};
use wire::WorkloadPatch;

use crate::content_json::ContentJson;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Changes labels and owners. A label with the value `null` is removed, labels not named stay; owners are replaced.
#[utoipa::path(
    patch,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    request_body = WorkloadPatch,
    responses((status = 200, body = Workload, headers(("ETag"))))
)]
pub async fn patch_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    IfMatch(expected): IfMatch,
    Body(patch): Body<WorkloadPatch>,
) -> Result<(HeaderMap, ContentJson<Workload>), ApiError> {
    let before = hub.get_workload(&path.workload).await?.workload;
    let mut labels = before.labels;
    for (key, value) in patch.labels {
        match value {
            Some(value) => labels.insert(key, value),
            None => labels.remove(&key),
        };
    }
    let edit = WorkloadEdit { labels: Some(labels), owners: patch.owners, ..WorkloadEdit::default() };
    // The labels are merged with the draft just read, so its revision must not change: otherwise a concurrent edit is lost.
    let expected = expected.or(Some(before.revision));
    let workload = hub.edit_workload(&actor, &path.workload, edit, expected).await?;
    Ok((etag_header(workload.revision), ContentJson(workload)))
}
