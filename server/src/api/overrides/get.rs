//! REST operation: get override.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::overrides::Override;
use hub::Hub;

use super::OverridePath;
use crate::etag::etag_header;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// One override of the draft. The `ETag` is that of the workload. What it sets in Secrets, and values of charts that are secrets, are
/// `(hidden)` for a role that may not edit the draft.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
    tag = "overrides",
    responses((status = 200, body = Override, headers(("ETag"))))
)]
pub async fn get_override(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<OverridePath>,
) -> Result<(HeaderMap, Json<Override>), ApiError> {
    let (revision, found) = hub.read_override(&actor, &path.workload, &path.name).await?;
    Ok((etag_header(revision), Json(found)))
}
