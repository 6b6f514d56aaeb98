//! REST operation: create chart repository.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use domain::chart_repository::{ChartRepository, NewChartRepository};
use hub::Hub;

use crate::input::{Body, Caller, Path, ProjectPath};
use crate::problem::ApiError;

/// Adds a repository of charts and reads its index. One that can't be read now is added, and its status says why.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/chart-repositories",
    tag = "charts",
    request_body = NewChartRepository,
    responses((status = 201, body = ChartRepository))
)]
pub async fn create_chart_repository(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Caller(actor): Caller,
    Body(new): Body<NewChartRepository>,
) -> Result<(StatusCode, Json<ChartRepository>), ApiError> {
    Ok((StatusCode::CREATED, Json(hub.create_chart_repository(&actor, new).await?)))
}
