//! REST operation: list Git repositories.

use axum::Json;
use axum::extract::State;
use domain::git_repository::GitRepository;
use hub::Hub;

use crate::input::{Path, ProjectPath};
use crate::problem::ApiError;

/// The Git repositories of the project that have credentials, a webhook or allowed signers, by name, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/git-repositories",
    tag = "git",
    responses((status = 200, body = Vec<GitRepository>))
)]
pub async fn list_git_repositories(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
) -> Result<Json<Vec<GitRepository>>, ApiError> {
    Ok(Json(hub.list_git_repositories().await?))
}
