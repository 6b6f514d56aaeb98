//! REST operation: check the Git source of a workload.

use axum::Json;
use axum::extract::State;
use domain::git_status::GitSourceStatus;
use hub::Hub;

use crate::input::{Caller, Path, WorkloadPath};
use crate::problem::ApiError;

/// Checks the ref of a workload's Git source now, for all workloads that follow it. A repository that can't be read is no error here:
/// the status says why.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/checkGit",
    tag = "git",
    responses((status = 200, body = GitSourceStatus))
)]
pub async fn check_git_source(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
) -> Result<Json<GitSourceStatus>, ApiError> {
    Ok(Json(hub.check_git_source(&actor, &path.workload).await?))
}
