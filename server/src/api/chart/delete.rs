//! REST operation: delete chart.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use super::ChartPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Deletes a stored version of a chart. Rejected while a workload names it, in its draft or in a revision.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/charts/{repository}/{chart}/{version}",
    tag = "charts",
    responses((status = 204, description = "The version is deleted"))
)]
pub async fn delete_chart(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ChartPath>,
) -> Result<StatusCode, ApiError> {
    hub.delete_chart(&actor, &path.repository, &path.chart, &path.version).await?;
    Ok(StatusCode::NO_CONTENT)
}
