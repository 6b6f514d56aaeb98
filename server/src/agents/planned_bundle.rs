//! `GET /agent/v1/plans/{plan}/bundle/{digest}`: the bytes that a plan asks about, addressed by their hash.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use domain::{Digest, PlanId};
use serde::Deserialize;

use super::Agents;
use super::admit::Of;
use crate::input::At;
use crate::problem::Refusal;

/// Which one; as text, because another text is a bundle that is not there.
#[derive(Debug, Deserialize)]
pub struct Which {
    plan: String,
    digest: String,
}

/// The bundle, if this cluster is asked about it.
pub async fn handler(
    State(agents): State<Agents>,
    Of(agent): Of,
    At(which): At<Which>,
) -> Result<Response, Refusal> {
    let missing = || hub::Error::not_found("bundle", which.digest.chars().take(80).collect::<String>());
    let plan: PlanId = which.plan.parse().map_err(|_| missing())?;
    let digest: Digest = which.digest.parse().map_err(|_| missing())?;
    let bytes = agents.site.hub().planned_bundle(agent.cluster, plan, &digest).await?;
    let about = [(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")];
    Ok((about, bytes).into_response())
}
