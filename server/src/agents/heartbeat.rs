//! `POST /agent/v1/heartbeat`: whether the agent reaches its cluster's API server.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::report::Heartbeat;
use serde_json::json;

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::input::AgentMessage;
use crate::problem::ApiError;

/// Renews the cluster's lease, or records that its API server does not respond.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    AgentMessage(heartbeat): AgentMessage<Heartbeat>,
) -> Result<Response, ApiError> {
    if let Err(later) = agents.rate_limits.check_heartbeat(agent.cluster) {
        return Ok(later.into_response());
    }
    match heartbeat.api_server_error {
        None => agents.site.hub().record_heartbeat(agent.cluster).await?,
        Some(error) => agents.site.hub().record_api_server_outage(agent.cluster, &error).await?,
    }
    Ok(Json(json!({})).into_response())
}
