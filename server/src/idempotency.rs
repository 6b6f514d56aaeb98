//! `Idempotency-Key` on POST: a client's retry receives the first response again instead of a second execution (P2).

use std::collections::HashSet;

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hub::{Actor, RequestKey, StoredResponse};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::problem::ApiError;
use crate::site::Site;

static KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");
static REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Longest accepted key, in characters.
const MAX_KEY_CHARS: usize = 200;
/// Largest response, in bytes; a larger one is answered with 500. Responses have a few kilobytes.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;

/// Whether the response contains a secret. Such responses are not stored: a second token is the smaller risk.
fn returns_secret(path: &str) -> bool {
    matches!(path, "/api/v1/tokens" | "/api/v1/join-tokens")
        || (path.starts_with("/api/v1/clusters/") && path.ends_with("/install"))
}

/// Requests with a key that this server is executing.
#[derive(Debug, Default)]
pub struct InFlightKeys(Mutex<HashSet<(String, String)>>);

struct InFlightGuard<'a>(&'a InFlightKeys, (String, String));

impl InFlightKeys {
    fn try_insert(&self, actor: &Actor, key: &str) -> Option<InFlightGuard<'_>> {
        let entry = (actor.name.clone(), key.to_owned());
        let fresh = self.0.lock().insert(entry.clone());
        fresh.then(|| InFlightGuard(self, entry))
    }
}

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.0.lock().remove(&self.1);
    }
}

/// Middleware: replays the response stored under the request's key, or executes the request and stores its response.
pub async fn handle_idempotency_key(State(site): State<Site>, request: Request, next: Next) -> Response {
    let actor = request.extensions().get::<Actor>().cloned();
    let (Some(actor), Some(key)) = (actor, request.headers().get(&KEY_HEADER)) else {
        return next.run(request).await;
    };
    if request.method() != Method::POST || returns_secret(request.uri().path()) {
        return next.run(request).await;
    }
    let Some(key) = parse_key(key) else {
        return ApiError::bad_request(format!(
            "Idempotency-Key must be 1 to {MAX_KEY_CHARS} visible ASCII characters."
        ))
        .into_response();
    };
    match execute_once(&site, &actor, &key, (request, next)).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

async fn execute_once(
    site: &Site,
    actor: &Actor,
    key: &str,
    (request, next): (Request, Next),
) -> Result<Response, ApiError> {
    let Some(_flying) = site.in_flight().try_insert(actor, key) else {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "RequestInProgress",
            "The first request with this Idempotency-Key is still in progress. Retry in a moment.",
        ));
    };
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, crate::router::MAX_BODY_BYTES)
        .await
        .map_err(|_| ApiError::from_status(StatusCode::PAYLOAD_TOO_LARGE))?;
    let hash = request_hash(&parts.uri, &body);
    if let Some(stored) = site.hub().stored_response(actor, key, &hash).await? {
        return Ok(replay_response(stored));
    }
    // With the key in the actor, a verb stores the response in its own transaction, so that no crash can separate them (P1).
    let request_key = RequestKey { key: key.to_owned(), request_hash: hash.clone() };
    parts.extensions.insert(actor.clone().with_request_key(request_key));
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    Ok(store_response(site, actor, (key, &hash), response).await)
}

/// Stores a final response. Server errors and temporary rejections are not final: a retry is executed.
async fn store_response(
    site: &Site,
    actor: &Actor,
    (key, hash): (&str, &str),
    response: Response,
) -> Response {
    let passing = matches!(
        response.status(),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS | StatusCode::UNAUTHORIZED
    );
    if response.status().is_server_error() || passing {
        return response;
    }
    let (parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, MAX_RESPONSE_BYTES).await else {
        return ApiError::from_status(StatusCode::INTERNAL_SERVER_ERROR).into_response();
    };
    let stored =
        StoredResponse { status: parts.status.as_u16(), body: String::from_utf8_lossy(&body).into_owned() };
    if let Err(error) = site.hub().store_response(actor, key, hash, &stored).await {
        // The request is executed and committed; only a retry would not be recognized.
        tracing::warn!(error = %error, "can't store the response for its Idempotency-Key; a retry would be executed again");
    }
    Response::from_parts(parts, Body::from(body))
}

fn replay_response(stored: StoredResponse) -> Response {
    let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
    let refused = status.is_client_error();
    let kind = if refused { wire::problem::MEDIA_TYPE } else { "application/json" };
    let mut response = (status, stored.body).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(REPLAYED_HEADER.clone(), HeaderValue::from_static("true"));
    response
}

fn parse_key(key: &HeaderValue) -> Option<String> {
    let key = key.to_str().ok()?;
    let fine = !key.is_empty() && key.len() <= MAX_KEY_CHARS && key.bytes().all(|b| b.is_ascii_graphic());
    fine.then(|| key.to_owned())
}

fn request_hash(uri: &axum::http::Uri, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(uri.to_string().as_bytes());
    hash.update([0]);
    hash.update(body);
    hex::encode(hash.finalize())
}
