//! REST operation: create chart repository.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use domain::chart_repository::{ChartRepository, NewChartRepository};
use hub::Hub;

use crate::etag::etag_header;
use crate::input::{Body, Caller, Path, ProjectPath};
use crate::problem::ApiError;

/// Adds a repository of charts and reads its index. One that can't be read now is added, and its status says why.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/chart-repositories",
    tag = "charts",
    request_body = NewChartRepository,
    responses((status = 201, body = ChartRepository, headers(("ETag"))))
)]
pub async fn create_chart_repository(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Caller(actor): Caller,
    Body(new): Body<NewChartRepository>,
) -> Result<(StatusCode, HeaderMap, Json<ChartRepository>), ApiError> {
    let repository = hub.create_chart_repository(&actor, new).await?;
    Ok((StatusCode::CREATED, etag_header(repository.revision), Json(repository)))
}
