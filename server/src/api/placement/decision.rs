//! `GET …/workloads/{workload}/placement`

use axum::Json;
use axum::extract::State;
use domain::placement::Decision;
use hub::Hub;
use wire::Problem;

use crate::input::{At, OfWorkload};
use crate::problem::Refusal;

/// What was decided last for this workload, cluster by cluster: what was asked, what was seen, and the verdict.
#[utoipa::path(
    get,
    path = "/api/v1/projects/{project}/workloads/{workload}/placement",
    tag = "placement",
    operation_id = "placementDecision",
    params(("project" = String, Path, description = "`default`"), ("workload" = String, Path)),
    responses(
        (status = 200, body = Decision),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(State(hub): State<Hub>, At(of): At<OfWorkload>) -> Result<Json<Decision>, Refusal> {
    Ok(Json(hub.placement_decision(&of.workload).await?))
}
