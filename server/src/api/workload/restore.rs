//! REST operation: restore revision.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::Hub;
use wire::RestoreRevisionRequest;

use crate::content_json::ContentJson;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Replaces the draft with an earlier revision; changes of the draft that were not published are lost. Clusters don't change before
/// a publish. To roll clusters back without changing the draft, publish that `revision`.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/restore",
    tag = "workloads",
    params(("If-Match" = Option<String>, Header, description = "The ETag of the draft that was read")),
    request_body = RestoreRevisionRequest,
    responses((status = 200, body = Workload, headers(("ETag"))))
)]
pub async fn restore_revision(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    expected: IfMatch,
    Body(request): Body<RestoreRevisionRequest>,
) -> Result<(HeaderMap, ContentJson<Workload>), ApiError> {
    let workload = hub.restore_revision(&actor, &path.workload, request.revision, expected.0).await?;
    Ok((etag_header(workload.revision), ContentJson(workload)))
}
