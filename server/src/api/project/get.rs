//! REST operation: get project.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::project::Project;
use hub::Hub;

use crate::etag::etag_header;
use crate::input::{Caller, Path, ProjectPath};
use crate::problem::ApiError;

/// The project, with the values that it locks.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}",
    tag = "projects",
    responses((status = 200, body = Project, headers(("ETag"))))
)]
pub async fn get_project(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(ProjectPath {}): Path<ProjectPath>,
) -> Result<(HeaderMap, Json<Project>), ApiError> {
    let project = hub.get_project().await?;
    let project = hub.hide_secrets(&actor, project).await?;
    Ok((etag_header(project.revision), Json(project)))
}
