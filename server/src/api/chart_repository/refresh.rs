//! REST operation: refresh chart repository.

use axum::Json;
use axum::extract::State;
use domain::chart_repository::ChartRepository;
use hub::Hub;

use super::ChartRepositoryPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Reads the index of a repository now. If that fails, the status says why and the last complete index stays in use.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/chart-repositories/{repository}/-/refresh",
    tag = "charts",
    responses((status = 200, body = ChartRepository))
)]
pub async fn refresh_chart_repository(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ChartRepositoryPath>,
) -> Result<Json<ChartRepository>, ApiError> {
    Ok(Json(hub.refresh_chart_repository(&actor, &path.repository).await?))
}
