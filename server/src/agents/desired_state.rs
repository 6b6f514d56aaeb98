//! `GET /agent/v1/desired-state?since=7&wait=55`: the cluster's full desired state (S0-6, S3-9).

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::input::Query;
use crate::problem::ApiError;

/// The longest wait, in seconds.
const MAX_WAIT_SECONDS: u64 = 55;

/// Query parameters. Others are ignored: the agent may be of a later version (P23).
#[derive(Debug, Deserialize)]
pub struct DesiredStateQuery {
    /// The version the agent has; −1 for none.
    #[serde(default = "no_version")]
    since: i64,
    /// How long to wait for another version, in seconds; at most 55.
    #[serde(default)]
    wait: u64,
}

const fn no_version() -> i64 {
    -1
}

/// The desired state, or 304 if its version is still `since`.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    Query(params): Query<DesiredStateQuery>,
) -> Result<Response, ApiError> {
    let hub = agents.site.hub();
    let wait = Duration::from_secs(params.wait.min(MAX_WAIT_SECONDS));
    let version = tokio::select! {
        version = hub.get_desired_state_version(agent.cluster, params.since, wait) => version?,
        gone = hub.wait_until_agent_revoked(&agent) => return Err(gone.into()),
        () = agents.site.stop().cancelled() => params.since,
    };
    hub.verify_agent(&agent).await?;
    if version == params.since {
        return Ok(StatusCode::NOT_MODIFIED.into_response());
    }
    let desired_state = hub.get_desired_state(agent.cluster, no_version(), Duration::ZERO).await?;
    Ok(Json(desired_state).into_response())
}
