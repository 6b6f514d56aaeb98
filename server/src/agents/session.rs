//! `POST /agent/v1/sessions`: an agent starts a session. Reports of its earlier sessions are rejected from then on.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use wire::agent::{SessionRequest, SessionResponse};

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::input::AgentMessage;
use crate::problem::ApiError;

/// Returns the new incarnation and the lease duration in seconds.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    AgentMessage(begin): AgentMessage<SessionRequest>,
) -> Result<Response, ApiError> {
    if let Err(later) = agents.rate_limits.check_session(agent.cluster) {
        return Ok(later.into_response());
    }
    let (incarnation, lease_seconds) =
        agents.site.hub().start_agent_session(agent.cluster, &begin.version).await?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Json(SessionResponse { incarnation, lease_seconds, version, capabilities: Vec::new() })
        .into_response())
}
