//! `GET /agent/v1/plans/{plan}/bundle/{digest}`: the manifests of a plan's dry run, addressed by their SHA-256.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use domain::{Digest, PlanId};
use serde::Deserialize;

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::input::Path;
use crate::problem::ApiError;

/// Path parameters, as text: an unparsable id is answered with 404.
#[derive(Debug, Deserialize)]
pub struct PlannedBundlePath {
    plan: String,
    digest: String,
}

/// The bundle, if the plan requests a dry run of it on this agent's cluster.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    Path(which): Path<PlannedBundlePath>,
) -> Result<Response, ApiError> {
    let missing = || hub::Error::not_found("bundle", which.digest.chars().take(80).collect::<String>());
    let plan: PlanId = which.plan.parse().map_err(|_| missing())?;
    let digest: Digest = which.digest.parse().map_err(|_| missing())?;
    let bytes = agents.site.hub().get_planned_bundle(agent.cluster, plan, &digest).await?;
    let about = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    Ok((about, bytes).into_response())
}
