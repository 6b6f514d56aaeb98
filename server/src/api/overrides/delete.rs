//! REST operation: delete override.

use axum::extract::State;
use axum::response::Response;
use domain::plan::Plan;
use domain::workload::{PublishResult, Workload};
use hub::{Hub, OverrideChange};
use wire::Problem;

use super::{OverrideParams, OverridePath, OverrideQuery, change_override};
use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Removes an override by its name. `If-Match` is required: the `ETag` of the workload that was read.
///
/// Without `now`, the draft is changed. With `now=true`, the same change of the published revision is published as well,
/// without other edits of the draft and with the checks of a publish; only clusters whose manifests differ are updated.
/// With `dryRun=true` nothing is stored and the plan of that publish is returned; send its `hash` as `planHash`.
#[utoipa::path(
    delete,
    path = "/api/v1/projects/{project}/workloads/{workload}/overrides/{name}",
    tag = "overrides",
    params(("If-Match" = String, Header, description = "The ETag of the workload that was read, or `*`"), OverrideQuery),
    responses(
        (status = 200, body = Workload, headers(("ETag")), description = "The workload with the changed draft"),
        (status = 201, body = Plan, headers(("Location")), description = "With `dryRun=true`: the plan"),
        (status = 202, body = PublishResult, headers(("Location")), description = "With `now=true`: the revision is stored; the rollout is in progress"),
        (status = 404, body = Problem, content_type = "application/problem+json",
            description = "There is no such workload, or it has no such override, whatever the ETag"),
        (status = 409, body = Problem, content_type = "application/problem+json",
            description = "The workload is not published, its rollout is not completed, or more clusters would lose it than allowed without `confirm`"),
        (status = 412, body = Problem, content_type = "application/problem+json",
            description = "The workload has changed since it was read, or the plan is stale (`PlanStale`)"),
        (status = 422, body = Problem, content_type = "application/problem+json", description = "A guard rail rejected it")
    )
)]
pub async fn delete_override(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<OverridePath>,
    params: OverrideParams,
) -> Result<Response, ApiError> {
    let change = OverrideChange::Remove { name: path.name };
    change_override(&hub, &actor, &path.workload, change, params).await
}
