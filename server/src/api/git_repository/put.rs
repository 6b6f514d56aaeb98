//! REST operation: put Git repository.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::git_repository::{GitRepository, GitRepositoryPut};
use hub::Hub;

use super::GitRepositoryPath;
use crate::etag::{IfMatch, etag_header};
use crate::input::{Body, Caller, Path};
use crate::problem::ApiError;

/// Adds a Git repository, or changes it. Omitted secrets of an existing one stay as they are, if the URL leads to the same scheme,
/// host and port.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}/git-repositories/{repository}",
    tag = "git",
    params(("If-Match" = Option<String>, Header, description = "The ETag that was read")),
    request_body = GitRepositoryPut,
    responses((status = 200, body = GitRepository, headers(("ETag"))))
)]
pub async fn put_git_repository(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<GitRepositoryPath>,
    IfMatch(expected): IfMatch,
    Body(put): Body<GitRepositoryPut>,
) -> Result<(HeaderMap, Json<GitRepository>), ApiError> {
    let repository = hub.save_git_repository(&actor, &path.repository, put, expected).await?;
    Ok((etag_header(repository.revision), Json(repository)))
}
