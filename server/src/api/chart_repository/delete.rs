//! REST operation: delete chart repository.

use axum::extract::State;
use axum::http::StatusCode;
use hub::Hub;

use super::ChartRepositoryPath;
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Removes a repository with the charts that were fetched from it. Rejected while a workload names one of them, in its draft or in
/// a revision.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/chart-repositories/{repository}",
    tag = "charts",
    responses((status = 204, description = "The repository is removed"))
)]
pub async fn delete_chart_repository(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<ChartRepositoryPath>,
) -> Result<StatusCode, ApiError> {
    hub.remove_chart_repository(&actor, &path.repository).await?;
    Ok(StatusCode::NO_CONTENT)
}
