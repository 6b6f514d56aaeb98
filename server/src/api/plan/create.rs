//! REST operation: plan workload.

use axum::extract::State;
use axum::response::Response;
use domain::plan::Plan;
use hub::{Hub, PublishOptions};

use super::{WaitQuery, created_plan};
use crate::input::{Caller, Path, Query, WorkloadPath};
use crate::problem::ApiError;

/// Plans a publish of the draft: the manifests of every cluster, and what would change there (E-2).
///
/// The clusters' agents are requested to run a dry run; unreachable clusters are marked as such and not waited for.
/// Send the plan's `hash` with the publish: it is rejected with `PlanStale` if the publish would differ from the plan.
/// A plan expires after an hour.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/-/plan",
    tag = "plans",
    params(WaitQuery),
    responses(
        (status = 201, body = Plan, description = "The plan, with the dry-run results received within the wait")
    )
)]
pub async fn plan_workload(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<WorkloadPath>,
    Query(wait): Query<WaitQuery>,
) -> Result<Response, ApiError> {
    let created = hub.create_plan(&actor, &path.workload, &PublishOptions::default()).await?;
    let plan = hub.wait_for_plan(created.id, wait.duration()).await?;
    Ok(created_plan(plan))
}
