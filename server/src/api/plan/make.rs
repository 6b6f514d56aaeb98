//! `POST …/workloads/{workload}:plan`

use axum::Json;
use axum::extract::State;
use axum::http::header::LOCATION;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::plan::Plan;
use hub::Hub;
use wire::Problem;

use super::Wait;
use crate::input::{At, Caller, OfWorkload, Query};
use crate::problem::Refusal;

/// Plans a publish of the draft: what every cluster would get, and what would change there (E-2).
///
/// The clusters' agents are asked for a dry run; those that can't be asked are told as such and nothing waits for them.
/// Send the plan's `hash` with the publish: it is refused with `PlanStale` if what was planned is not what would be
/// published. A plan is taken for an hour.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/plan",
    tag = "plans",
    operation_id = "workloadPlan",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        Wait
    ),
    responses(
        (status = 201, body = Plan, description = "The plan, with the answers that came within the wait"),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    At(of): At<OfWorkload>,
    Query(wait): Query<Wait>,
) -> Result<Response, Refusal> {
    let made = hub.plan_make(&actor, &of.workload).await?;
    let plan = hub.plan_wait(made.id, wait.duration()).await?;
    let location = format!("/api/v1/plans/{}", plan.id);
    let location = HeaderValue::from_str(&location).unwrap_or(HeaderValue::from_static("/"));
    Ok((StatusCode::CREATED, [(LOCATION, location)], Json(plan)).into_response())
}
