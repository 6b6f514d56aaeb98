//! REST operation: preview channel template.

use axum::Json;
use axum::extract::State;
use domain::notification::{TemplatePreview, TemplatePreviewRequest};
use hub::Hub;

use crate::input::Body;
use crate::problem::ApiError;

/// What a channel of this kind with this template would send about a sample incident. Stores and sends nothing.
#[utoipa::path(
    post,
    path = "/api/v1/channels/-/preview",
    tag = "notifications",
    request_body = TemplatePreviewRequest,
    responses((status = 200, body = TemplatePreview))
)]
pub async fn preview_channel_template(
    State(hub): State<Hub>,
    Body(request): Body<TemplatePreviewRequest>,
) -> Result<Json<TemplatePreview>, ApiError> {
    Ok(Json(hub.preview_template(&request)?))
}
