//! `GET …/workloads/{workload}/releases/{cluster}`

use axum::Json;
use axum::extract::State;
use domain::release::ReleaseView;
use hub::Hub;
use serde::Deserialize;
use wire::Problem;

use crate::input::Path;
use crate::problem::ApiError;

/// Path parameters of a release.
#[derive(Debug, Deserialize)]
pub struct ReleasePath {
    /// The workload.
    workload: String,
    /// The cluster.
    cluster: String,
}

/// One release with its resources.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/releases/{cluster}",
    tag = "releases",
    operation_id = "getRelease",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("cluster" = String, Path)
    ),
    responses(
        (status = 200, body = ReleaseView),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Path(path): Path<ReleasePath>,
) -> Result<Json<ReleaseView>, ApiError> {
    Ok(Json(hub.get_release(&path.workload, &path.cluster).await?))
}
