//! REST operation: upload chart.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::chart::ChartVersion;
use hub::Hub;

use crate::input::{Caller, Path, ProjectPath, RawBody};
use crate::problem::ApiError;

/// Stores a packed chart (`.tgz`) as `local/<name>`. The same archive again is no change; another archive of the same version is
/// rejected, because revisions name the version.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/charts",
    tag = "charts",
    request_body(content = Vec<u8>, content_type = "application/gzip"),
    responses((status = 201, body = ChartVersion))
)]
pub async fn upload_chart(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Caller(actor): Caller,
    RawBody(archive): RawBody,
) -> Result<(StatusCode, Json<ChartVersion>), ApiError> {
    Ok((StatusCode::CREATED, Json(hub.upload_chart(&actor, archive.into()).await?)))
}
