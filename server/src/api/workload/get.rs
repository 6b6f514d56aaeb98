//! REST operation: get workload.

use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::WorkloadView;
use hub::Hub;

use crate::content_json::ContentJson;
use crate::etag::etag_header;
use crate::input::{Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// One workload with its draft, its counts and its published revision. The `ETag` is that of the draft. Values of Secrets, and values of
/// charts that are secrets, are `(hidden)` in the revision, and for a role that may not edit the draft in the draft too.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}",
    tag = "workloads",
    responses((status = 200, body = WorkloadView, headers(("ETag"))))
)]
pub async fn get_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
) -> Result<(HeaderMap, ContentJson<WorkloadView>), ApiError> {
    let view = hub.get_workload(&path.workload).await?;
    let view = hub.hide_secrets(&actor, view).await?;
    Ok((etag_header(view.workload.revision), ContentJson(view)))
}
