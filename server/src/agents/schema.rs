//! `PUT /agent/v1/schema/{digest}`: what the cluster's API server says of the structure of its kinds.

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use domain::Digest;
use serde::Deserialize;

use super::Agents;
use super::admit::Of;
use crate::input::At;
use crate::problem::Refusal;

/// Which one.
#[derive(Debug, Deserialize)]
pub struct Which {
    digest: String,
}

/// Keeps it, if a report of this cluster has named it.
pub async fn handler(
    State(agents): State<Agents>,
    Of(agent): Of,
    At(which): At<Which>,
    body: Bytes,
) -> Result<Json<serde_json::Value>, Refusal> {
    let missing = || hub::Error::not_found("schema", which.digest.chars().take(80).collect::<String>());
    let digest: Digest = which.digest.parse().map_err(|_| missing())?;
    agents.site.hub().schema_given(agent.cluster, &digest, body.into()).await?;
    Ok(Json(serde_json::json!({})))
}
