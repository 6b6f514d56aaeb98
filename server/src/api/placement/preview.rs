//! REST operation: preview placement.

use axum::Json;
use axum::extract::State;
use domain::placement::Decision;
use hub::Hub;
use wire::PreviewRequest;

use crate::input::{Body, Path, ProjectPath};
use crate::problem::ApiError;

/// The decision that a placement would have now; stores nothing.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/placements/-/preview",
    tag = "placement",
    request_body = PreviewRequest,
    responses((status = 200, body = Decision))
)]
pub async fn preview_placement(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Body(request): Body<PreviewRequest>,
) -> Result<Json<Decision>, ApiError> {
    Ok(Json(hub.preview_placement(&request.workload, &request.placement).await?))
}
