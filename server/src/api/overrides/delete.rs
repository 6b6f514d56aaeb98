//! REST operation: delete override.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::Hub;

use super::{OverridePath, OverrideQuery};
use crate::etag::etag_header;
use crate::input::{Caller, Path, Query};
use crate::problem::ApiError;

/// Removes an override by its name.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
    tag = "overrides",
    params(OverrideQuery),
    responses((status = 200, body = Workload))
)]
pub async fn delete_override(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<OverridePath>,
    Query(query): Query<OverrideQuery>,
) -> Result<(HeaderMap, Json<Workload>), ApiError> {
    let workload = hub.delete_override(&actor, &path.workload, &path.name, query.now).await?;
    Ok((etag_header(workload.revision), Json(workload)))
}
