//! REST operation: list the versions of a chart.

use axum::Json;
use axum::extract::State;
use domain::chart_repository::CatalogVersion;
use hub::Hub;
use serde::Deserialize;

use crate::input::Path;
use crate::problem::ApiError;

/// Path parameters of a chart.
#[derive(Debug, Deserialize)]
pub struct CatalogPath {
    /// The repository: `local` for uploaded charts.
    repository: String,
    /// The name of the chart.
    chart: String,
}

/// The versions of a chart, the newest first: published ones, and stored ones that are not published any more.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/chart-catalog/{repository}/{chart}",
    tag = "charts",
    responses((status = 200, body = Vec<CatalogVersion>))
)]
pub async fn list_chart_versions(
    State(hub): State<Hub>,
    Path(path): Path<CatalogPath>,
) -> Result<Json<Vec<CatalogVersion>>, ApiError> {
    Ok(Json(hub.list_chart_versions(&path.repository, &path.chart).await?))
}
