//! REST operation: plan workload.

use axum::extract::State;
use axum::response::Response;
use domain::plan::Plan;
use hub::{Hub, PublishContent, PublishOptions};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{created_plan, limit_wait};
use crate::input::{Caller, Path, Query, WorkloadPath};
use crate::problem::ApiError;
use crate::request_deadline::ArrivalTime;

/// What is planned.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PlanParams {
    /// Seconds to wait for dry-run results, at most 30; 0 returns immediately with the results received so far.
    #[param(required = false)]
    wait: u64,
    /// The number of an earlier revision to publish again; the draft if omitted.
    revision: Option<u32>,
}

/// Plans a publish of the draft, or of an earlier revision (a rollback): the manifests of every cluster, and what would change there (E-2).
///
/// The clusters' agents are requested to run a dry run; unreachable clusters are marked as such and not waited for.
/// Send the plan's `hash` with the publish: it is rejected with `PlanStale` if the publish would differ from the plan.
/// A plan expires after an hour.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/plan",
    tag = "plans",
    params(PlanParams),
    responses(
        (status = 201, body = Plan, headers(("Location")), description = "The plan, with the dry-run results received within the wait")
    )
)]
pub async fn plan_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Query(query): Query<PlanParams>,
    arrival: ArrivalTime,
) -> Result<Response, ApiError> {
    let content = query.revision.map_or(PublishContent::Draft, PublishContent::Revision);
    let options = PublishOptions { content, ..PublishOptions::default() };
    let created = hub.create_plan(&actor, &path.workload, &options).await?;
    let plan = hub.wait_for_plan(created.id, arrival.limit(limit_wait(query.wait))).await?;
    Ok(created_plan(plan))
}
