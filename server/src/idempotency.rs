//! `Idempotency-Key` on POST: a client's retry gets the first answer again instead of doing things twice (P2).

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hub::{Actor, Replay, RequestKey};
use sha2::{Digest as _, Sha256};

use crate::problem::Refusal;
use crate::site::Site;

static KEY: HeaderName = HeaderName::from_static("idempotency-key");
static REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// Longest key taken, in characters.
const LONGEST_KEY: usize = 200;
/// An answer larger than this is not kept; ours are a few kilobytes.
const LARGEST_ANSWER: usize = 1024 * 1024;

/// Its answer is a secret that is shown once: keeping it to show it again would be worse than a second token.
fn is_secret(path: &str) -> bool {
    matches!(path, "/api/v1/tokens" | "/api/v1/join-tokens")
        || (path.starts_with("/api/v1/clusters/") && path.ends_with("/install"))
}

/// Requests with a key that are being carried out by this server.
#[derive(Debug, Default)]
pub struct InFlight(Mutex<HashSet<(String, String)>>);

struct Flying<'a>(&'a InFlight, (String, String));

impl InFlight {
    fn begin(&self, actor: &Actor, key: &str) -> Option<Flying<'_>> {
        let entry = (actor.name.clone(), key.to_owned());
        let fresh = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(entry.clone());
        fresh.then(|| Flying(self, entry))
    }
}

impl Drop for Flying<'_> {
    fn drop(&mut self) {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.1);
    }
}

/// Replays the answer kept under the request's key, or keeps the new one.
pub async fn once_per_key(State(site): State<Site>, request: Request, next: Next) -> Response {
    let actor = request.extensions().get::<Actor>().cloned();
    let (Some(actor), Some(key)) = (actor, request.headers().get(&KEY)) else {
        return next.run(request).await;
    };
    if request.method() != Method::POST || is_secret(request.uri().path()) {
        return next.run(request).await;
    }
    let Some(key) = readable(key) else {
        return Refusal::bad_request(format!(
            "Idempotency-Key must be 1 to {LONGEST_KEY} visible ASCII characters."
        ))
        .into_response();
    };
    match carried_out(&site, &actor, &key, (request, next)).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

async fn carried_out(
    site: &Site,
    actor: &Actor,
    key: &str,
    (request, next): (Request, Next),
) -> Result<Response, Refusal> {
    let Some(_flying) = site.in_flight().begin(actor, key) else {
        return Err(Refusal::new(
            StatusCode::CONFLICT,
            "InFlight",
            "The first request with this Idempotency-Key is still being carried out. Ask again in a moment.",
        ));
    };
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, crate::router::LARGEST_BODY)
        .await
        .map_err(|_| Refusal::of_status(StatusCode::PAYLOAD_TOO_LARGE))?;
    let hash = request_hash(&parts.uri, &body);
    if let Some(kept) = site.hub().replay(actor, key, &hash).await? {
        return Ok(replayed(kept));
    }
    // Verbs that can store the answer with what they did find the key here; then no crash can come in between (P1).
    let asking = RequestKey { key: key.to_owned(), request_hash: hash.clone() };
    parts.extensions.insert(actor.clone().asking(asking));
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    Ok(kept(site, actor, (key, &hash), response).await)
}

/// Keeps an answer that is final. Faults of ours and refusals for a moment are not: the retry should be carried out.
async fn kept(site: &Site, actor: &Actor, (key, hash): (&str, &str), response: Response) -> Response {
    let passing = matches!(
        response.status(),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS | StatusCode::UNAUTHORIZED
    );
    if response.status().is_server_error() || passing {
        return response;
    }
    let (parts, body) = response.into_parts();
    let Ok(body) = to_bytes(body, LARGEST_ANSWER).await else {
        return Refusal::of_status(StatusCode::INTERNAL_SERVER_ERROR).into_response();
    };
    let answer = Replay { status: parts.status.as_u16(), body: String::from_utf8_lossy(&body).into_owned() };
    if let Err(error) = site.hub().keep_answer(actor, key, hash, &answer).await {
        // What was asked for is done and stored; only its repetition is no longer recognised.
        tracing::warn!(error = %error, "an answer could not be kept for its Idempotency-Key");
    }
    Response::from_parts(parts, Body::from(body))
}

fn replayed(kept: Replay) -> Response {
    let status = StatusCode::from_u16(kept.status).unwrap_or(StatusCode::OK);
    let refused = status.is_client_error();
    let kind = if refused { wire::problem::MEDIA_TYPE } else { "application/json" };
    let mut response = (status, kept.body).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(REPLAYED.clone(), HeaderValue::from_static("true"));
    response
}

fn readable(key: &HeaderValue) -> Option<String> {
    let key = key.to_str().ok()?;
    let fine = !key.is_empty() && key.len() <= LONGEST_KEY && key.bytes().all(|b| b.is_ascii_graphic());
    fine.then(|| key.to_owned())
}

fn request_hash(uri: &axum::http::Uri, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(uri.to_string().as_bytes());
    hash.update([0]);
    hash.update(body);
    hex::encode(hash.finalize())
}
