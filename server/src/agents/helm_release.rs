//! `POST /agent/v1/helm-release`: what the agent's cluster has of a requested Helm release.

use axum::Json;
use axum::extract::State;
use wire::agent::SubmittedHelmRelease;

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::input::AgentMessage;
use crate::problem::ApiError;

/// Stores the answer. One without an open request is answered with 404.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    AgentMessage(submitted): AgentMessage<SubmittedHelmRelease>,
) -> Result<Json<serde_json::Value>, ApiError> {
    let SubmittedHelmRelease { request, reading } = submitted;
    agents.site.hub().record_helm_release(agent.cluster, &request, reading).await?;
    Ok(Json(serde_json::json!({})))
}
