//! `POST …/workloads/{workload}/rollout:{verb}`

use axum::Json;
use axum::extract::State;
use domain::rollout::{Rollout, RolloutAction};
use hub::Hub;
use serde::Deserialize;
use wire::Problem;

use crate::input::{Caller, Path};
use crate::problem::ApiError;

/// Path parameters: the workload and the action.
#[derive(Debug, Deserialize)]
pub struct RolloutActionPath {
    workload: String,
    verb: RolloutAction,
}

/// Controls the rollout of the published revision.
///
/// `pause` admits no more clusters; `resume` continues and accepts the present failures; `approve` approves a wave that
/// requires it; `promote` skips the soak time; `abort` ends the rollout, and clusters not yet admitted keep their applied
/// revision.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/rollout/-/{verb}",
    tag = "rollouts",
    operation_id = "controlRollout",
    params(
        ("project" = String, Path, description = "`default`"),
        ("workload" = String, Path),
        ("verb" = inline(RolloutAction), Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The request is executed once per key")
    ),
    responses(
        (status = 200, body = Rollout),
        (status = "default", body = Problem, content_type = "application/problem+json")
    )
)]
pub async fn handler(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<RolloutActionPath>,
) -> Result<Json<Rollout>, ApiError> {
    Ok(Json(hub.control_rollout(&actor, &path.workload, path.verb).await?))
}
