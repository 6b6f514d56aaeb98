//! `PUT /agent/v1/schema/{digest}`: the schema of the kinds that the cluster's API server serves.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse as _, Response};
use domain::Digest;
use serde::Deserialize;

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::input::{Path, RawBody};
use crate::problem::ApiError;

/// Path parameters, as text: an unparsable digest is answered with 404.
#[derive(Debug, Deserialize)]
pub struct SchemaPath {
    digest: String,
}

/// Stores the schema, if a report of this cluster has named its digest.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    Path(which): Path<SchemaPath>,
    RawBody(body): RawBody,
) -> Result<Response, ApiError> {
    if let Err(later) = agents.rate_limits.check_schema(agent.cluster) {
        return Ok(later.into_response());
    }
    let missing = || hub::Error::not_found("schema", which.digest.chars().take(80).collect::<String>());
    let digest: Digest = which.digest.parse().map_err(|_| missing())?;
    agents.site.hub().store_schema(agent.cluster, &digest, body.into()).await?;
    Ok(Json(serde_json::json!({})).into_response())
}
