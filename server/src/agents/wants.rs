//! `GET /agent/v1/wants?since=7&wait=55`: the full list of what the cluster should hold (S0-6, S3-9).

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;

use super::Agents;
use super::admit::Of;
use crate::input::Query;
use crate::problem::Refusal;

/// The longest wait, in seconds (`product.md` F.6).
const LONGEST: u64 = 55;

/// What the agent has.
#[derive(Debug, Deserialize)]
pub struct Params {
    /// The version it has; −1 for none.
    #[serde(default = "nothing")]
    since: i64,
    /// How long it is willing to wait for another one, in seconds.
    #[serde(default)]
    wait: u64,
}

const fn nothing() -> i64 {
    -1
}

/// The list, or 304 if it is still the one that the agent has.
pub async fn handler(
    State(agents): State<Agents>,
    Of(agent): Of,
    Query(params): Query<Params>,
) -> Result<Response, Refusal> {
    let hub = agents.site.hub();
    let wait = Duration::from_secs(params.wait.min(LONGEST));
    let version = tokio::select! {
        version = hub.wants_version(agent.cluster, params.since, wait) => version?,
        gone = hub.agent_until_revoked(&agent) => return Err(gone.into()),
        () = agents.site.stop().cancelled() => params.since,
    };
    hub.agent_check(&agent).await?;
    if version == params.since {
        return Ok(StatusCode::NOT_MODIFIED.into_response());
    }
    let wants = hub.wants(agent.cluster, nothing(), Duration::ZERO).await?;
    Ok(Json(wants).into_response())
}
