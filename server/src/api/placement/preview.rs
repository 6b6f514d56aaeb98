//! `POST …/placements:preview`

use axum::Json;
use axum::extract::State;
use domain::placement::Decision;
use hub::Hub;
use wire::{PreviewRequest, Problem};

use crate::input::{Body, Path, ProjectPath};
use crate::problem::ApiError;

/// The decision that a placement would have now; stores nothing.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/placements:preview",
    tag = "placement",
    operation_id = "previewPlacement",
    params(("project" = String, Path, description = "`default`")),
    request_body = PreviewRequest,
    responses(
        (status = 200, body = Decision),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Body(request): Body<PreviewRequest>,
) -> Result<Json<Decision>, ApiError> {
    Ok(Json(hub.preview_placement(&request.workload, &request.placement).await?))
}
