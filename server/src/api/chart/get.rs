//! REST operation: get chart.

use axum::Json;
use axum::extract::State;
use domain::chart::ChartDetails;
use hub::Hub;

use super::ChartPath;
use crate::input::Path;
use crate::problem::ApiError;

/// One version of a chart with its default values, README and values schema; fetched from its repository if it is not stored yet. What is too
/// long for a response is named in `shortened`.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/charts/{repository}/{chart}/{version}",
    tag = "charts",
    responses((status = 200, body = ChartDetails))
)]
pub async fn get_chart(
    State(hub): State<Hub>,
    Path(path): Path<ChartPath>,
) -> Result<Json<ChartDetails>, ApiError> {
    Ok(Json(hub.get_chart(&path.repository, &path.chart, &path.version).await?))
}
