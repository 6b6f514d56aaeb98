//! REST operation: get the Git source of a workload.

use axum::Json;
use axum::extract::State;
use domain::git_status::GitSourceStatus;
use hub::Hub;

use crate::input::{Path, WorkloadPath};
use crate::problem::ApiError;

/// The Git source of a workload: the commits of its draft and of its published revision, and what is known about the ref.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/git",
    tag = "git",
    responses((status = 200, body = GitSourceStatus))
)]
pub async fn get_git_source(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
) -> Result<Json<GitSourceStatus>, ApiError> {
    Ok(Json(hub.get_git_source(&path.workload).await?))
}
