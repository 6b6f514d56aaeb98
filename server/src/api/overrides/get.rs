//! REST operation: get override.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::overrides::Override;
use hub::Hub;

use super::OverridePath;
use crate::etag::etag_header;
use crate::input::Path;
use crate::problem::ApiError;

/// One override of the draft. The `ETag` is that of the workload.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
    tag = "overrides",
    responses((status = 200, body = Override, headers(("ETag"))))
)]
pub async fn get_override(
    State(hub): State<Hub>,
    Path(path): Path<OverridePath>,
) -> Result<(HeaderMap, Json<Override>), ApiError> {
    let (revision, found) = hub.get_override(&path.workload, &path.name).await?;
    Ok((etag_header(revision), Json(found)))
}
