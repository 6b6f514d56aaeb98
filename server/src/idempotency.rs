//! `Idempotency-Key` on writes: a client's retry receives the first response again instead of a second execution (P2).
//!
//! A response is stored with its headers ([`STORED_HEADERS`]), a large body as an artifact. It has no limit of its own: what it
//! returns of a workload was accepted in a body with a limit.

use std::collections::{BTreeMap, HashSet};

use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, LINK, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::authorization::UserAction;
use hub::{Actor, RequestKey, StoredResponse};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};

use crate::access::AuthorizedRoute;
use crate::input::read_bytes;
use crate::problem::{ApiError, error_chain};
use crate::site::Site;

static KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");
static REPLAYED_HEADER: HeaderName = HeaderName::from_static("idempotency-replayed");

/// The headers of a response that a replay repeats: those that the OpenAPI document names for responses. What the outer layers add, such as
/// the id of a request, belongs to the replay; cookies are never stored.
pub static STORED_HEADERS: [HeaderName; 5] = [ETAG, LINK, LOCATION, RETRY_AFTER, WWW_AUTHENTICATE];

/// What the paths of the REST API begin with.
const API_PREFIX: &str = "/api/v1/";
/// Longest accepted key, in characters.
const MAX_KEY_CHARS: usize = 200;

/// Whether the response contains the secret of a join token. Such requests are executed again: a second join token, which
/// expires soon, is the smaller risk.
pub fn returns_join_token(path: &str) -> bool {
    path == "/api/v1/join-tokens" || (path.starts_with("/api/v1/clusters/") && path.ends_with("/install"))
}

/// Whether the response contains another secret. The verb stores it without, in its own transaction: a retry receives what was
/// created, and that the secret is not sent again.
pub fn returns_secret_once(path: &str) -> bool {
    matches!(path, "/api/v1/tokens" | "/api/v1/users")
        || (path.starts_with("/api/v1/users/") && path.ends_with("/resetPassword"))
}

/// Whether the response contains what is read from a cluster and kept nowhere: values of a Helm release, which can contain passwords.
/// Such a request is executed again.
pub fn returns_cluster_values(path: &str) -> bool {
    path.starts_with("/api/v1/clusters/") && path.contains("/helm-releases/") && path.ends_with("/read")
}

/// Whether the body contains passwords. The key of such a request is not stored: the hash of the body that belongs to it could be used to
/// try passwords much faster than with the hash of the password itself.
pub fn contains_password(path: &str) -> bool {
    path == "/api/v1/password"
}

/// Whether a request to this path of the API is executed again, whatever its key is, because its response is not stored.
pub fn is_unstored(path: &str) -> bool {
    returns_join_token(path) || returns_cluster_values(path) || contains_password(path)
}

/// Whether an action only reads, with whatever method. Such a request is executed again: a response that is stored for a day is no
/// protection of anything, and a user who may change nothing would fill the database with them.
pub const fn is_read(action: UserAction) -> bool {
    matches!(action, UserAction::View | UserAction::Validate)
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

/// Middleware of the REST API: replays the response stored under the request's key, or executes the request and stores its response.
pub async fn handle_idempotency_key(State(site): State<Site>, request: Request, next: Next) -> Response {
    let actor = request.extensions().get::<Actor>().cloned();
    let (Some(actor), Some(key)) = (actor, request.headers().get(&KEY_HEADER)) else {
        return next.run(request).await;
    };
    // A method that the path does not have is answered with 405, whatever its key is.
    let route = request.extensions().get::<AuthorizedRoute>();
    let is_write = route.is_some_and(|route| !is_read(route.action)) && !request.method().is_safe();
    let path = request.uri().path();
    // What verbs store is the response of the API. The console sends no keys.
    if !is_write || !path.starts_with(API_PREFIX) || is_unstored(path) {
        return next.run(request).await;
    }
    let Some(key) = parse_key(key) else {
        return ApiError::bad_request(format!(
            "Idempotency-Key must be 1 to {MAX_KEY_CHARS} visible ASCII characters."
        ))
        .into_response();
    };
    let key = IdempotencyKey { actor, key };
    match execute_once(&site, &key, request, next).await {
        Ok(response) => response,
        Err(refusal) => refusal.into_response(),
    }
}

/// The key of a request, and the actor whose keys it belongs to.
struct IdempotencyKey {
    actor: Actor,
    key: String,
}

async fn execute_once(
    site: &Site,
    IdempotencyKey { actor, key }: &IdempotencyKey,
    request: Request,
    next: Next,
) -> Result<Response, ApiError> {
    let Some(_guard) = site.in_flight().try_insert(actor, key) else {
        return Err(ApiError::new(
            StatusCode::CONFLICT,
            "RequestInProgress",
            "The first request with this Idempotency-Key is still in progress. Retry in a moment.",
        ));
    };
    let (mut parts, body) = request.into_parts();
    let body = read_bytes(body, crate::router::MAX_BODY_BYTES).await?;
    let hash = request_hash(&parts.method, &parts.uri, &body);
    if let Some(stored) = site.hub().stored_response(actor, key, &hash).await? {
        return Ok(replay_response(stored));
    }
    // With the key in the actor, a verb stores the response in its own transaction, so that no crash can separate them (P1).
    let request_key = RequestKey { key: key.to_owned(), request_hash: hash };
    let has_secret = returns_secret_once(parts.uri.path());
    parts.extensions.insert(actor.clone().with_request_key(request_key.clone()));
    let response = next.run(Request::from_parts(parts, Body::from(body))).await;
    let is_lost = hub::loses_response(&request_key.key);
    if is_lost || (has_secret && response.status().is_success()) {
        return Ok(response);
    }
    Ok(store_response(site, actor, &request_key, response).await)
}

/// Stores a final response. Server errors and temporary rejections are not final: a retry is executed. A failure of a request
/// whose change is stored, by an unknown commit or an earlier attempt, becomes the stored response.
async fn store_response(site: &Site, actor: &Actor, request: &RequestKey, response: Response) -> Response {
    let status = response.status();
    let passing = matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::UNAUTHORIZED);
    if !status.is_success()
        && let Ok(Some(stored)) = site.hub().stored_response(actor, &request.key, &request.request_hash).await
    {
        // An earlier attempt was executed after all: it was still being committed when this one began.
        return replay_response(stored);
    }
    if status.is_server_error() || passing {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let body = match to_bytes(body, usize::MAX).await {
        Ok(body) => body,
        Err(error) => {
            // The request is executed, so its status is the response, without the body that was lost.
            tracing::error!(error = %error_chain(&error), "can't read the response of a request with an Idempotency-Key");
            parts.headers.remove(CONTENT_LENGTH);
            return Response::from_parts(parts, Body::empty());
        }
    };
    let stored = StoredResponse {
        status: parts.status.as_u16(),
        headers: list_stored_headers(parts.status, &parts.headers),
        body: String::from_utf8_lossy(&body).into_owned(),
    };
    match site.hub().store_response(actor, request, &stored).await {
        Ok(()) => {}
        // Another request with the key was executed at the same time: a retry of this one is refused.
        Err(hub::Error::IdempotencyKeyReused) => {
            tracing::debug!("an Idempotency-Key was used for two requests at the same time");
        }
        // The request is executed and committed; only a retry would not be recognized.
        Err(error) => {
            tracing::warn!(error = %error, "can't store the response for its Idempotency-Key; a retry may be executed again, or get it without its headers");
        }
    }
    Response::from_parts(parts, Body::from(body))
}

/// The media type of most responses with this status; it is stored only for the others.
fn default_media_type(status: StatusCode) -> &'static str {
    if status.is_client_error() { wire::problem::MEDIA_TYPE } else { "application/json" }
}

/// The headers that a replay repeats, by their names.
fn list_stored_headers(status: StatusCode, headers: &HeaderMap) -> BTreeMap<String, String> {
    let to_text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let mut stored: BTreeMap<String, String> = STORED_HEADERS
        .iter()
        .filter_map(|name| Some((name.as_str().to_owned(), headers.get(name).and_then(to_text)?)))
        .collect();
    let kind = headers.get(CONTENT_TYPE).and_then(to_text);
    if let Some(kind) = kind.filter(|kind| kind != default_media_type(status)) {
        stored.insert(CONTENT_TYPE.as_str().to_owned(), kind);
    }
    stored
}

fn replay_response(stored: StoredResponse) -> Response {
    let status = StatusCode::from_u16(stored.status).unwrap_or(StatusCode::OK);
    let has_body = !stored.body.is_empty();
    let mut response = (status, stored.body).into_response();
    response.headers_mut().remove(CONTENT_TYPE);
    if has_body {
        let kind = HeaderValue::from_static(default_media_type(status));
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    for (name, value) in &stored.headers {
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert(REPLAYED_HEADER.clone(), HeaderValue::from_static("true"));
    response
}

fn parse_key(key: &HeaderValue) -> Option<String> {
    let key = key.to_str().ok()?;
    let fine = !key.is_empty() && key.len() <= MAX_KEY_CHARS && key.bytes().all(|b| b.is_ascii_graphic());
    fine.then(|| key.to_owned())
}

fn request_hash(method: &Method, uri: &Uri, body: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update(method.as_str().as_bytes());
    hash.update([0]);
    hash.update(uri.to_string().as_bytes());
    hash.update([0]);
    hash.update(body);
    hex::encode(hash.finalize())
}
