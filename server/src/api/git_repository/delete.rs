//! REST operation: delete Git repository.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use super::GitRepositoryPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Removes a Git repository with its secrets. Workloads keep the commits that they have.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/git-repositories/{repository}",
    tag = "git",
    responses((status = 204, description = "The repository is removed"))
)]
pub async fn delete_git_repository(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<GitRepositoryPath>,
) -> Result<StatusCode, ApiError> {
    hub.remove_git_repository(&actor, &path.repository).await?;
    Ok(StatusCode::NO_CONTENT)
}
