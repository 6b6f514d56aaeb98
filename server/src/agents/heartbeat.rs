//! `POST /agent/v1/heartbeat`: the agent reaches its cluster's API server.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::problem::ApiError;

/// Renews the cluster's lease.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
) -> Result<Json<Value>, ApiError> {
    agents.site.hub().record_heartbeat(agent.cluster).await?;
    Ok(Json(json!({})))
}
