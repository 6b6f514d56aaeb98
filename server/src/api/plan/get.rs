//! REST operation: get plan.

use axum::Json;
use axum::extract::State;
use domain::PlanId;
use domain::plan::Plan;
use hub::Hub;
use serde::Deserialize;

use super::WaitQuery;
use crate::input::{Path, Query};
use crate::problem::ApiError;
use crate::request_deadline::ArrivalTime;

/// Path parameters, as text: an unparsable id is answered with 404.
#[derive(Debug, Deserialize)]
pub struct PlanPath {
    plan: String,
}

/// A plan with the dry-run results received so far. Plans expire after an hour.
#[utoipa::path(
    get,
    path = "/api/v1/plans/{plan}",
    tag = "plans",
    params(WaitQuery),
    responses((status = 200, body = Plan))
)]
pub async fn get_plan(
    State(hub): State<Hub>,
    Path(path): Path<PlanPath>,
    Query(wait): Query<WaitQuery>,
    arrival: ArrivalTime,
) -> Result<Json<Plan>, ApiError> {
    let missing = || hub::Error::not_found("plan", path.plan.chars().take(80).collect::<String>());
    let id: PlanId = path.plan.parse().map_err(|_| missing())?;
    Ok(Json(hub.wait_for_plan(id, arrival.limit(wait.duration())).await?))
}
