//! REST operation: get Git repository.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::git_repository::GitRepository;
use hub::Hub;

use super::GitRepositoryPath;
use crate::etag::etag_header;
use crate::input::Path;
use crate::problem::ApiError;

/// One Git repository, without its secrets.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/git-repositories/{repository}",
    tag = "git",
    responses((status = 200, body = GitRepository, headers(("ETag"))))
)]
pub async fn get_git_repository(
    State(hub): State<Hub>,
    Path(path): Path<GitRepositoryPath>,
) -> Result<(HeaderMap, Json<GitRepository>), ApiError> {
    let repository = hub.get_git_repository(&path.repository).await?;
    Ok((etag_header(repository.revision), Json(repository)))
}
