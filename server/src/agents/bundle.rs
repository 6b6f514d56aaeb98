//! `GET /agent/v1/releases/{release}/bundle/{digest}`: the manifests to apply, addressed by their SHA-256 (S0-7).

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::{Digest, ReleaseId};
use serde::Deserialize;

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::input::Path;
use crate::problem::ApiError;

/// Path parameters, as text: an unparsable id is answered with 404.
#[derive(Debug, Deserialize)]
pub struct BundlePath {
    release: String,
    digest: String,
}

/// The bundle, if the release belongs to this agent's cluster; 304 if the agent's ETag matches.
pub async fn handler(
    State(agents): State<AgentApiState>,
    AgentConnection(agent): AgentConnection,
    Path(which): Path<BundlePath>,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let missing = || hub::Error::not_found("bundle", which.digest.chars().take(80).collect::<String>());
    let release: ReleaseId = which.release.parse().map_err(|_| missing())?;
    let digest: Digest = which.digest.parse().map_err(|_| missing())?;
    let bytes = agents.site.hub().get_bundle(agent.cluster, release, &digest).await?;
    let etag = format!("\"{digest}\"");
    let has = headers.get(IF_NONE_MATCH).is_some_and(|has| has.as_bytes() == etag.as_bytes());
    let about = [(ETAG, etag), (CACHE_CONTROL, "private, immutable, max-age=31536000".to_owned())];
    if has {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    Ok((about, [(CONTENT_TYPE, "application/json")], bytes).into_response())
}
