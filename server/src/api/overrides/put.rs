//! REST operation: put override.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::{Hub, OverrideEdit};
use wire::OverridePut;

use super::{OverridePath, OverrideQuery};
use crate::etag::etag_header;
use crate::input::{Body, Caller, Path, Query};
use crate::problem::ApiError;

/// Saves an override by its name.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
    tag = "overrides",
    params(OverrideQuery),
    request_body = OverridePut,
    responses((status = 200, body = Workload))
)]
pub async fn put_override(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<OverridePath>,
    Query(query): Query<OverrideQuery>,
    Body(put): Body<OverridePut>,
) -> Result<(HeaderMap, Json<Workload>), ApiError> {
    let edit = OverrideEdit { name: path.name, content: put, publish_now: query.now };
    let workload = hub.put_override(&actor, &path.workload, edit).await?;
    Ok((etag_header(workload.revision), Json(workload)))
}
