//! `POST …/placements:preview`

use axum::Json;
use axum::extract::State;
use domain::placement::Decision;
use hub::Hub;
use wire::{PreviewRequest, Problem};

use crate::input::{At, Body, InProject};
use crate::problem::Refusal;

/// What a placement would choose now, and why; stores nothing.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/placements:preview",
    tag = "placement",
    operation_id = "placementPreview",
    params(("project" = String, Path, description = "`default`")),
    request_body = PreviewRequest,
    responses(
        (status = 200, body = Decision),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(InProject {}): At<InProject>,
    Body(request): Body<PreviewRequest>,
) -> Result<Json<Decision>, Refusal> {
    Ok(Json(hub.placement_preview(&request.workload, &request.placement).await?))
}
