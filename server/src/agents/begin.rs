//! `POST /agent/v1/begin`: an agent starts; from now on only its reports count.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use wire::agent::{Begin, Begun};

use super::Agents;
use super::admit::Of;
use crate::input::Body;
use crate::problem::Refusal;

/// Gives out the incarnation.
pub async fn handler(
    State(agents): State<Agents>,
    Of(agent): Of,
    Body(begin): Body<Begin>,
) -> Result<Response, Refusal> {
    if let Err(later) = agents.gate.begin() {
        return Ok(later.into_response());
    }
    let (incarnation, lease_seconds) = agents.site.hub().agent_join(agent.cluster, &begin.version).await?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    Ok(Json(Begun { incarnation, lease_seconds, version, capabilities: Vec::new() }).into_response())
}
