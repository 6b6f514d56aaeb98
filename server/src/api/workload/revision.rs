//! `GET …/workloads/{workload}/revisions/{revision}`

use axum::Json;
use axum::extract::State;
use domain::plan::RevisionView;
use hub::Hub;
use wire::Problem;

use crate::input::{Path, RevisionPath};
use crate::problem::ApiError;

/// One revision, and its changes against the one before.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/revisions/{revision}",
    tag = "workloads",
    operation_id = "getRevision",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("revision" = u32, Path, description = "Its number")
    ),
    responses(
        (status = 200, body = RevisionView),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Path(path): Path<RevisionPath>,
) -> Result<Json<RevisionView>, ApiError> {
    Ok(Json(hub.get_revision(&path.workload, path.revision).await?))
}
