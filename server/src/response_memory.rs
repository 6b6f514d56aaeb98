//! Memory for large responses: reserved before a response is built, and released when it is sent.
//!
//! A response is built in memory, pages of the console too, and a client that reads slowly keeps it there. Without a budget, many clients
//! that read something large at the same time need a multiple of what their requests reserve. How large a response becomes is known only
//! afterwards, so the size of an earlier response ([`sizes`]) is what the next one waits for; a first request reserves what is usual for
//! its kind, and is refused if it turns out to be larger than what is free. Each user and each agent has a share
//! ([`source::client_shares`]).
//!
//! The response to a change reserves its expected size before the change. If it is larger than that and its memory is not free, the change
//! is made all the same: then the response has its status and its headers, and no body (`Preference-Applied: return=minimal`, RFC 7240).
//! A change of unknown size reserves nothing in advance, nor does what waits for clusters: it would retain its reservation for as long as it
//! waits. Whatever is reserved, the body of the request has arrived before ([`crate::body_memory`]): it may arrive slowly, and would retain
//! the reservation.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use hub::{Actor, AuthenticatedAgent};
use parking_lot::Mutex;
use source::client_shares::{
    ClientReservation, RESPONSES_TO_AGENTS, RESPONSES_TO_USERS, UNKNOWN_RESPONSES_TO_USERS,
};
use source::memory_budget::{MemoryExhausted, RESERVE_WAIT};
use source::retained_memory::run_with_memory;

use self::sizes::{ResponseSizes, SMALL_BYTES, SizeKey, UserResponseSizes, response_size};
use crate::access::{RouteKind, refuse_busy, route_kind};
use crate::console::poll_beside_others;
use crate::custom_verb::INTERNAL_SEPARATOR;
use crate::listener::RetainedResponse;
use crate::problem::ApiError;
use crate::request_places::waits_for_clusters;
use crate::site::Site;

mod sizes;
#[cfg(test)]
mod tests;

/// What a response of unknown size reserves while it is built.
const UNKNOWN_BYTES: u64 = 2 << 20;
/// The same for a page, which has the text of a workload several times.
const UNKNOWN_PAGE_BYTES: u64 = 8 << 20;
/// What a small page needs while it is rendered: a user may have hundreds of connections, and a page waits for its queries.
const SMALL_PAGE_BYTES: u64 = 512 << 10;
/// The same for a bundle that an agent requests: many agents request one at once.
const UNKNOWN_BUNDLE_BYTES: u64 = 256 << 10;
/// What a response needs while it is built, as a multiple of its size: its values are larger than their text.
const BUILD_FACTOR: u64 = 4;
/// The same for a page.
const PAGE_FACTOR: u64 = 6;
/// The same for a bundle: it is decrypted, and not parsed.
const BUNDLE_FACTOR: u64 = 2;
/// Verbs of the API that change nothing, although they are requested by `POST`.
const READ_VERBS: [&str; 3] = ["preview", "render", "validate"];

/// The sizes of responses to users.
static SIZES: LazyLock<UserResponseSizes> = LazyLock::new(UserResponseSizes::default);
/// The sizes of bundles, by digest.
static BUNDLE_SIZES: LazyLock<ResponseSizes> = LazyLock::new(ResponseSizes::default);

static PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

/// A body with the reservation of its memory, which ends when its last byte is sent.
struct ReservedBytes {
    bytes: Bytes,
    _memory: ClientReservation,
    _unsent: Arc<()>,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// In the extensions of a request: the memory in which its response is built. Work that goes on without its client, as the rendering of a page
/// and what runs on a thread for blocking work, retains it to its end.
#[derive(Clone)]
pub struct ResponseMemory(Arc<Mutex<Option<ResponseReservations>>>);

impl ResponseMemory {
    /// That of a request; `None` if nothing is reserved for it.
    pub fn of_request(request: &Request) -> Option<Self> {
        request.extensions().get().cloned()
    }
}

/// What a request has reserved for its response.
struct ResponseReservations {
    memory: ClientReservation,
    /// What a response of unknown size reserves until it is built.
    _until_built: Option<ClientReservation>,
}

/// Middleware: reserves memory for the large response to a signed-in user or a program.
pub async fn reserve_response(State(site): State<Site>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let kind = route_kind(&site, &path);
    let user = request.extensions().get::<Actor>().map(|actor| actor.name.clone());
    let Some(user) = user.filter(|_| is_counted(kind)) else {
        return next.run(request).await;
    };
    let (headers, method) = (request.headers().clone(), request.method().clone());
    let response = match method {
        Method::GET | Method::HEAD => respond_to_read(user, kind, request, next).await,
        Method::OPTIONS | Method::TRACE => return next.run(request).await,
        _ => respond_to_change(user, kind, request, next).await,
    };
    match response {
        Ok(response) => response,
        Err(exhausted) => refuse_busy(&site, &path, &headers, exhausted),
    }
}

async fn respond_to_read(
    user: String,
    kind: RouteKind,
    request: Request,
    next: Next,
) -> Result<Response, MemoryExhausted> {
    let key = SizeKey::of_read(&user, request.uri());
    // It would retain its reservation for as long as it waits.
    let waits = kind == RouteKind::Api && waits_for_clusters(&request);
    let reserved = if waits {
        ResponseReservations { memory: RESPONSES_TO_USERS.reserve(user, 0).await?, _until_built: None }
    } else {
        reserve_for_read(user, kind, &key).await?
    };
    // What is large is decrypted, parsed and written for long, also after a wait.
    let is_large = SIZES.find(&key).is_none_or(|size| size > SMALL_BYTES);
    let (response, reserved) = run_within(reserved, is_large, request, next).await;
    SIZES.record(&key, &response);
    match reserved {
        Some(ResponseReservations { memory, _until_built }) => attach(memory, response, Duration::ZERO).await,
        None => Ok(response),
    }
}

/// What a read needs while its response is built. The size of a response may become known while it waits for the memory of an unknown one.
async fn reserve_for_read(
    user: String,
    kind: RouteKind,
    key: &SizeKey,
) -> Result<ResponseReservations, MemoryExhausted> {
    let (factor, unknown) = match kind {
        RouteKind::Page => (PAGE_FACTOR, UNKNOWN_PAGE_BYTES),
        _ => (BUILD_FACTOR, UNKNOWN_BYTES),
    };
    let mut until_built = None;
    if SIZES.find(key).is_none() {
        until_built = Some(UNKNOWN_RESPONSES_TO_USERS.reserve(user.clone(), unknown).await?);
    }
    let size = SIZES.find(key);
    let is_small_page = kind == RouteKind::Page && size.is_some_and(|size| size <= SMALL_BYTES);
    let until_built = match until_built {
        Some(mut reserved) if is_small_page => {
            reserved.shrink_to(SMALL_PAGE_BYTES);
            Some(reserved)
        }
        None if is_small_page => {
            Some(UNKNOWN_RESPONSES_TO_USERS.reserve(user.clone(), SMALL_PAGE_BYTES).await?)
        }
        reserved => reserved.filter(|_| size.is_none()),
    };
    let memory = RESPONSES_TO_USERS.reserve(user, needed_bytes(size, factor)).await?;
    Ok(ResponseReservations { memory, _until_built: until_built })
}

async fn respond_to_change(
    user: String,
    kind: RouteKind,
    request: Request,
    next: Next,
) -> Result<Response, MemoryExhausted> {
    let key = SizeKey::of_change(&user, request.method(), request.uri());
    // Server functions that change something have small responses.
    let changes_nothing = kind == RouteKind::ServerFn || has_read_verb(request.uri().path());
    let waits = kind == RouteKind::Api && waits_for_clusters(&request);
    let expected = needed_bytes(SIZES.find(&key), BUILD_FACTOR);
    // What changes nothing returns content, of a size that may be unknown.
    let is_large = expected > 0 || changes_nothing;
    // The wait for clusters may use the time of the request: what it would wait for memory then is beyond the time limit.
    let (expected, wait) = if waits { (0, Duration::ZERO) } else { (expected, RESERVE_WAIT) };
    let memory = RESPONSES_TO_USERS.reserve(user, expected).await?;
    let reserved = ResponseReservations { memory, _until_built: None };
    let (response, reserved) = run_within(reserved, is_large, request, next).await;
    SIZES.record(&key, &response);
    match reserved {
        Some(ResponseReservations { memory, .. }) => {
            attach_to_change(memory, response, changes_nothing, wait).await
        }
        None => Ok(response),
    }
}

/// Runs a request in the memory for its response, which what the request has started retains if its client is gone. Returns the reservations
/// with the response.
async fn run_within(
    reserved: ResponseReservations,
    is_large: bool,
    mut request: Request,
    next: Next,
) -> (Response, Option<ResponseReservations>) {
    let memory = ResponseMemory(Arc::new(Mutex::new(Some(reserved))));
    request.extensions_mut().insert(memory.clone());
    let handled = Box::pin(run_with_memory(memory.clone(), next.run(request)));
    let response = poll_beside_others(is_large, handled).await;
    let reserved = memory.0.lock().take();
    (response, reserved)
}

/// What a response of this size needs while it is built; nothing if it is small or unknown.
fn needed_bytes(size: Option<u64>, factor: u64) -> u64 {
    size.filter(|size| *size > SMALL_BYTES).map_or(0, |size| size.saturating_mul(factor))
}

/// Middleware: the same for a read of an agent, which has presented its certificate.
pub async fn reserve_agent_response(request: Request, next: Next) -> Response {
    let agent = request.extensions().get::<AuthenticatedAgent>().map(|agent| agent.cluster.to_string());
    let Some(cluster) = agent.filter(|_| request.method() == Method::GET) else {
        return next.run(request).await;
    };
    // The same bundle is served to many clusters. Everything else waits for changes.
    let digest = request.uri().path().rsplit_once("/bundle/").map(|(_, digest)| digest.to_owned());
    let key = digest.unwrap_or_default();
    let expected = match BUNDLE_SIZES.get(&key) {
        _ if key.is_empty() => 0,
        None => UNKNOWN_BUNDLE_BYTES,
        known => needed_bytes(known, BUNDLE_FACTOR),
    };
    let reserved = async {
        let memory = RESPONSES_TO_AGENTS.reserve(cluster, expected).await?;
        let response = next.run(request).await;
        if let Some(size) = response_size(&response).filter(|_| response.status().is_success()) {
            BUNDLE_SIZES.insert(&key, size);
        }
        attach(memory, response, Duration::ZERO).await
    };
    match reserved.await {
        Ok(response) => response,
        Err(exhausted) => ApiError::from(hub::Error::from(exhausted)).into_response(),
    }
}

/// Whether the responses of a route are built in memory and counted.
fn is_counted(kind: RouteKind) -> bool {
    matches!(kind, RouteKind::Api | RouteKind::ServerFn | RouteKind::Page)
}

/// Whether a path has a verb that changes nothing.
fn has_read_verb(path: &str) -> bool {
    path.rsplit_once(INTERNAL_SEPARATOR).is_some_and(|(_, verb)| READ_VERBS.contains(&verb))
}

/// The response to a change, with as much memory as it needs until it is sent. Without that memory, only what changed nothing is refused.
async fn attach_to_change(
    memory: ClientReservation,
    response: Response,
    changes_nothing: bool,
    wait: Duration,
) -> Result<Response, MemoryExhausted> {
    if changes_nothing || !response.status().is_success() {
        return attach(memory, response, wait).await;
    }
    let mut minimal = response.status().into_response();
    minimal.headers_mut().clone_from(response.headers());
    match attach(memory, response, wait).await {
        Ok(response) => Ok(response),
        Err(exhausted) => {
            tracing::warn!(%exhausted, "the response to a change is sent without its body");
            let headers = minimal.headers_mut();
            headers.remove(CONTENT_LENGTH);
            headers.remove(CONTENT_TYPE);
            headers.insert(PREFERENCE_APPLIED.clone(), HeaderValue::from_static("return=minimal"));
            Ok(minimal)
        }
    }
}

/// The response with as much memory as it needs until it is sent. It is built already: what is not free within this time is refused.
async fn attach(
    mut memory: ClientReservation,
    response: Response,
    wait: Duration,
) -> Result<Response, MemoryExhausted> {
    let Some(size) = response.body().size_hint().exact().filter(|size| *size > SMALL_BYTES) else {
        return Ok(response);
    };
    memory.resize(size, wait).await?;
    let (mut head, body) = response.into_parts();
    match to_bytes(body, usize::MAX).await {
        Ok(bytes) => {
            let (budget, unsent) = (memory.budget(), Arc::new(()));
            let retained = RetainedResponse { bytes: size, budget, unsent: Arc::downgrade(&unsent) };
            head.extensions.insert(retained);
            let owner = ReservedBytes { bytes, _memory: memory, _unsent: unsent };
            let body = Body::from(Bytes::from_owner(owner));
            Ok(Response::from_parts(head, body))
        }
        Err(error) => {
            tracing::error!(%error, "a response can't be read");
            Ok(ApiError::from_status(StatusCode::INTERNAL_SERVER_ERROR).into_response())
        }
    }
}
