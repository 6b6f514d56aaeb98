//! `GET /plans/{plan}`

use axum::Json;
use axum::extract::State;
use domain::PlanId;
use domain::plan::Plan;
use hub::Hub;
use serde::Deserialize;
use wire::Problem;

use super::Wait;
use crate::input::{At, Query};
use crate::problem::Refusal;

/// Which plan; as text, because another text is a plan that is not there.
#[derive(Debug, Deserialize)]
pub struct Which {
    plan: String,
}

/// A plan with what the clusters have said so far; gone after an hour.
#[utoipa::path(
    get,
    path = "/api/v1/plans/{plan}",
    tag = "plans",
    operation_id = "planGet",
    params(("plan" = String, Path), Wait),
    responses(
        (status = 200, body = Plan),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    At(which): At<Which>,
    Query(wait): Query<Wait>,
) -> Result<Json<Plan>, Refusal> {
    let missing = || hub::Error::not_found("plan", which.plan.chars().take(80).collect::<String>());
    let id: PlanId = which.plan.parse().map_err(|_| missing())?;
    Ok(Json(hub.plan_wait(id, wait.duration()).await?))
}
