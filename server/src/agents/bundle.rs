//! `GET /agent/v1/releases/{release}/bundle/{digest}`: the bytes that are to be applied, addressed by their hash (S0-7).

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use domain::{Digest, ReleaseId};
use serde::Deserialize;

use super::Agents;
use super::admit::Of;
use crate::input::At;
use crate::problem::Refusal;

/// Which one; as text, because another text is a bundle that is not there.
#[derive(Debug, Deserialize)]
pub struct Which {
    release: String,
    digest: String,
}

/// The bundle, if this release on this cluster may have it; 304 if the agent has it.
pub async fn handler(
    State(agents): State<Agents>,
    Of(agent): Of,
    At(which): At<Which>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let missing = || hub::Error::not_found("bundle", which.digest.chars().take(80).collect::<String>());
    let release: ReleaseId = which.release.parse().map_err(|_| missing())?;
    let digest: Digest = which.digest.parse().map_err(|_| missing())?;
    let bytes = agents.site.hub().bundle(agent.cluster, release, &digest).await?;
    let etag = format!("\"{digest}\"");
    let has = headers.get(IF_NONE_MATCH).is_some_and(|has| has.as_bytes() == etag.as_bytes());
    let about = [(ETAG, etag), (CACHE_CONTROL, "private, immutable, max-age=31536000".to_owned())];
    if has {
        return Ok((StatusCode::NOT_MODIFIED, about).into_response());
    }
    Ok((about, [(CONTENT_TYPE, "application/json")], bytes).into_response())
}
