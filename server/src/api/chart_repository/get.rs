//! REST operation: get chart repository.

use axum::Json;
use axum::extract::State;
use axum::http::HeaderMap;
use domain::chart_repository::ChartRepository;
use hub::Hub;

use super::ChartRepositoryPath;
use crate::etag::etag_header;
use crate::input::Path;
use crate::problem::ApiError;

/// One repository of charts, without its secret.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/chart-repositories/{repository}",
    tag = "charts",
    responses((status = 200, body = ChartRepository, headers(("ETag"))))
)]
pub async fn get_chart_repository(
    State(hub): State<Hub>,
    Path(path): Path<ChartRepositoryPath>,
) -> Result<(HeaderMap, Json<ChartRepository>), ApiError> {
    let repository = hub.get_chart_repository(&path.repository).await?;
    Ok((etag_header(repository.revision), Json(repository)))
}
