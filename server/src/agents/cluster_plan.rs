//! `POST /agent/v1/plans/{plan}/cluster-plan`: the result of a plan's dry run on the agent's cluster.

use axum::Json;
use axum::extract::State;
use domain::PlanId;
use domain::plan::ClusterPlan;
use serde::Deserialize;

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::input::{AgentMessage, Path};
use crate::problem::ApiError;

/// Path parameters, as text: an unparsable id is answered with 404.
#[derive(Debug, Deserialize)]
pub struct ClusterPlanPath {
    plan: String,
}

/// Stores the result. A second result for the same request, or one for an expired plan, is answered with 404.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    Path(which): Path<ClusterPlanPath>,
    AgentMessage(effect): AgentMessage<ClusterPlan>,
) -> Result<Json<serde_json::Value>, ApiError> {
    let missing = || hub::Error::not_found("plan", which.plan.chars().take(80).collect::<String>());
    let plan: PlanId = which.plan.parse().map_err(|_| missing())?;
    agents.site.hub().record_dry_run_result(agent.cluster, plan, effect).await?;
    Ok(Json(serde_json::json!({})))
}
