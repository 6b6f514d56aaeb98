//! `POST /agent/v1/heartbeat`: the cluster's API server answers.

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::Agents;
use super::admit::Of;
use crate::problem::Refusal;

/// Renews the lease.
pub async fn handler(State(agents): State<Agents>, Of(agent): Of) -> Result<Json<Value>, Refusal> {
    agents.site.hub().cluster_heartbeat(agent.cluster).await?;
    Ok(Json(json!({})))
}
