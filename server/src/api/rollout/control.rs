//! REST operation: control rollout.

use axum::Json;
use axum::extract::State;
use domain::rollout::{Rollout, RolloutAction};
use hub::Hub;
use serde::Deserialize;

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
/// requires it, the result of one, or the publish if the project requires that; `promote` skips the soak time; `retry`
/// requests a sync of the clusters that fail and leaves the state; `abort` ends the rollout, and clusters not yet admitted keep their applied revision.
#[utoipa::path(
    post,
    path = "/api/v1/projects/{project}/workloads/{workload}/rollout/-/{verb}",
    tag = "rollouts",
    params(("verb" = inline(RolloutAction), Path)),
    responses((status = 200, body = Rollout))
)]
pub async fn control_rollout(
    State(hub): State<Hub>,
    Caller(actor): Caller,
    Path(path): Path<RolloutActionPath>,
) -> Result<Json<Rollout>, ApiError> {
    Ok(Json(hub.control_rollout(&actor, &path.workload, path.verb).await?))
}
