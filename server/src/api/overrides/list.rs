//! REST operation: list overrides.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::overrides::Override;
use hub::Hub;

use crate::etag::etag_header;
use crate::input::{Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// The overrides of the draft, in their order. The `ETag` is that of the workload. What they set in Secrets, and values of charts that
/// are secrets, are `(hidden)` for a role that may not edit the draft.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides",
    tag = "overrides",
    responses((status = 200, body = Vec<Override>, headers(("ETag"))))
)]
pub async fn list_overrides(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
) -> Result<(HeaderMap, Json<Vec<Override>>), ApiError> {
    let (revision, overrides) = hub.list_overrides(&actor, &path.workload).await?;
    Ok((etag_header(revision), Json(overrides)))
}
