//! REST operation: put project.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::project::Project;
use hub::Hub;
use wire::ProjectPut;

use crate::etag::{RequiredIfMatch, etag_header};
use crate::input::{Body, Caller, Path, ProjectPath};
use crate::problem::ApiError;

/// Replaces the values that the project locks; charts of all workloads are rendered again with them. `publishApproval` is whether every
/// publish has to be approved, by `anyone` whose role allows it or by `anotherUser` than its publisher; without it, that stays as it is.
/// `If-Match` is required, so that values that were not read can't be replaced by accident.
#[utoipa::path(
    put,
    path = "/api/v1/projects/{project}",
    tag = "projects",
    params(("If-Match" = String, Header, description = "The ETag that was read, or `*`")),
    request_body = ProjectPut,
    responses((status = 200, body = Project, headers(("ETag"))))
)]
pub async fn put_project(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(ProjectPath {}): Path<ProjectPath>,
    RequiredIfMatch(expected): RequiredIfMatch,
    Body(put): Body<ProjectPut>,
) -> Result<(HeaderMap, Json<Project>), ApiError> {
    let project = hub.save_project(&actor, put.locked_values, put.publish_approval, expected).await?;
    Ok((etag_header(project.revision), Json(project)))
}
