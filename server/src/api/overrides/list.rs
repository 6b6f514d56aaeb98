//! REST operation: list overrides.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::overrides::Override;
use hub::Hub;

use crate::etag::etag_header;
use crate::input::{Path, WorkloadPath};
use crate::problem::ApiError;

/// The overrides of the draft, in their order. The `ETag` is that of the workload.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides",
    tag = "overrides",
    responses((status = 200, body = Vec<Override>, headers(("ETag"))))
)]
pub async fn list_overrides(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
) -> Result<(HeaderMap, Json<Vec<Override>>), ApiError> {
    let workload = hub.get_workload(&path.workload).await?.workload;
    Ok((etag_header(workload.revision), Json(workload.draft.overrides)))
}
