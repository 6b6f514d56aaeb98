//! REST operation: list charts.

use axum::Json;
use axum::extract::State;
use domain::chart::ChartVersion;
use hub::Hub;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::input::{Path, ProjectPath, Query};
use crate::problem::ApiError;

/// Selects charts.
#[derive(Debug, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct ChartListParams {
    /// Only versions of the chart with this name.
    #[param(required = false)]
    name: Option<String>,
}

/// The charts of the project, newest upload first.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/charts",
    tag = "charts",
    params(ChartListParams),
    responses((status = 200, body = Vec<ChartVersion>))
)]
pub async fn list_charts(
    State(hub): State<Hub>,
    Path(ProjectPath {}): Path<ProjectPath>,
    Query(params): Query<ChartListParams>,
) -> Result<Json<Vec<ChartVersion>>, ApiError> {
    Ok(Json(hub.list_charts(params.name.as_deref()).await?))
}
