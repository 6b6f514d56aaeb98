//! `DELETE …/workloads/{workload}/overrides/{name}`

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::workload::Workload;
use hub::Hub;
use wire::Problem;

use super::{OverridePath, OverrideQuery};
use crate::etag::etag_header;
use crate::input::{Caller, Path, Query};
use crate::problem::ApiError;

/// Removes an override by its name.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
    tag = "overrides",
    operation_id = "deleteOverride",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("name" = String, Path),
        OverrideQuery
    ),
    responses(
        (status = 200, body = Workload),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<OverridePath>,
    Query(query): Query<OverrideQuery>,
) -> Result<(HeaderMap, Json<Workload>), ApiError> {
    let workload = hub.delete_override(&actor, &path.workload, &path.name, query.now).await?;
    Ok((etag_header(workload.revision), Json(workload)))
}
