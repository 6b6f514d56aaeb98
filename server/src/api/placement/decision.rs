//! `GET …/workloads/{workload}/placement`

use axum::Json;
use axum::extract::State;
use domain::placement::Decision;
use hub::Hub;
use wire::Problem;

use crate::input::{Path, WorkloadPath};
use crate::problem::ApiError;

/// The last placement decision of this workload: per cluster the result of each filter, with expected and actual values.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/placement",
    tag = "placement",
    operation_id = "getPlacementDecision",
    params(("project" = String, Path, description = "`default`"), ("workload" = String, Path)),
    responses(
        (status = 200, body = Decision),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Path(path): Path<WorkloadPath>,
) -> Result<Json<Decision>, ApiError> {
    Ok(Json(hub.get_placement_decision(&path.workload).await?))
}
