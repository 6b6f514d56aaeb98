//! REST operation: list chart repositories.

use axum::Json;
use axum::extract::State;
use domain::chart_repository::ChartRepository;
use hub::Hub;

use crate::input::{Path, ProjectPath};
use crate::problem::ApiError;

/// The repositories of the project by name, with the age and the number of charts of their indexes, without their secrets.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/chart-repositories",
    tag = "charts",
    responses((status = 200, body = Vec<ChartRepository>))
)]
pub async fn list_chart_repositories(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
) -> Result<Json<Vec<ChartRepository>>, ApiError> {
    Ok(Json(hub.list_chart_repositories().await?))
}
