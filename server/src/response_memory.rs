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
//! A change of unknown size reserves nothing in advance. Whatever is reserved, the body of the request has arrived before
//! ([`crate::body_memory`]): it may arrive slowly, and would retain the reservation.

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
use crate::console::run_beside_others;
use crate::custom_verb::INTERNAL_SEPARATOR;
use crate::listener::RetainedResponse;
use crate::problem::ApiError;
use crate::request_places::waits_for_clusters;
use crate::site::Site;

mod sizes;

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

/// In the extensions of a read: the memory in which its response is built. Work that goes on without its client, as the rendering of a page
/// does, retains it to its end.
#[derive(Clone)]
pub struct ResponseMemory(Arc<Mutex<Option<ReadReservations>>>);

impl ResponseMemory {
    /// That of a request; `None` if nothing is reserved for it.
    pub fn of_request(request: &Request) -> Option<Self> {
        request.extensions().get().cloned()
    }
}

/// What a read has reserved.
struct ReadReservations {
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
    mut request: Request,
    next: Next,
) -> Result<Response, MemoryExhausted> {
    let key = SizeKey::of_read(&user, request.uri());
    // It would retain its reservation for as long as it waits.
    let waits = kind == RouteKind::Api && waits_for_clusters(&request);
    let reserved = if waits {
        ReadReservations { memory: RESPONSES_TO_USERS.reserve(user, 0).await?, _until_built: None }
    } else {
        reserve_for_read(user, kind, &key).await?
    };
    let memory = ResponseMemory(Arc::new(Mutex::new(Some(reserved))));
    request.extensions_mut().insert(memory.clone());
    // What is large is decrypted, parsed and written for long, also after a wait.
    let is_large = SIZES.find(&key).is_none_or(|size| size > SMALL_BYTES);
    let handled = Box::pin(run_with_memory(memory.clone(), next.run(request)));
    let response = run_beside_others(is_large, handled).await;
    SIZES.record(&key, &response);
    let reserved = memory.0.lock().take();
    match reserved {
        Some(ReadReservations { memory, _until_built }) => attach(memory, response, Duration::ZERO).await,
        None => Ok(response),
    }
}

/// What a read needs while its response is built. The size of a response may become known while it waits for the memory of an unknown one.
async fn reserve_for_read(
    user: String,
    kind: RouteKind,
    key: &SizeKey,
) -> Result<ReadReservations, MemoryExhausted> {
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
    Ok(ReadReservations { memory, _until_built: until_built })
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
    let expected = needed_bytes(SIZES.find(&key), BUILD_FACTOR);
    let memory = RESPONSES_TO_USERS.reserve(user, expected).await?;
    // What changes nothing returns content, of a size that may be unknown.
    let is_large = expected > 0 || changes_nothing;
    let response = run_beside_others(is_large, Box::pin(next.run(request))).await;
    SIZES.record(&key, &response);
    attach_to_change(memory, response, changes_nothing, RESERVE_WAIT).await
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

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::middleware::from_fn;
    use axum::routing::get;
    use domain::ClusterId;
    use source::client_shares::ClientShares;
    use source::memory_budget::{AGENT_RESPONSES, MemoryBudget};
    use tower::ServiceExt as _;

    use super::*;
    use crate::test_router::{TestRouter, WORKLOADS};

    fn response(bytes: usize) -> Response {
        Body::from(vec![b'a'; bytes]).into_response()
    }

    #[tokio::test]
    async fn p19_a_large_response_retains_its_memory_until_its_last_byte_is_sent() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
        let memory = SHARES.reserve("ada".to_owned(), 3 << 20).await.unwrap();
        let sent = attach(memory, response(1 << 20), Duration::ZERO).await.unwrap();
        assert_eq!(BUDGET.free_bytes(), 7 << 20, "what was needed to build it is free again");
        assert_eq!(sent.body().size_hint().exact(), Some(1 << 20));
        let mut bytes = to_bytes(sent.into_body(), usize::MAX).await.unwrap();
        let end = bytes.split_off(bytes.len() - 1);
        drop(bytes);
        assert_eq!(BUDGET.free_bytes(), 7 << 20);
        drop(end);
        assert_eq!(BUDGET.free_bytes(), 8 << 20);
    }

    #[tokio::test]
    async fn p19_a_response_of_unexpected_size_is_refused_if_its_memory_is_not_free_and_a_small_one_never() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
        static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
        let reserve =
            async |client: &str, bytes: u64| SHARES.reserve(client.to_owned(), bytes).await.unwrap();
        let others = (BUDGET.reserve(1 << 20).await.unwrap(), reserve("bob", 2 << 20).await);
        let refused = attach(reserve("ada", 0).await, response(2 << 20), Duration::ZERO).await.unwrap_err();
        assert!(refused.to_string().contains("a test (4 MiB)"), "{refused}");
        assert_eq!(BUDGET.free_bytes(), 1 << 20);
        let rest = BUDGET.reserve(1 << 20).await.unwrap();
        attach(reserve("ada", 0).await, response(64 << 10), Duration::ZERO).await.unwrap();
        drop((others, rest));
        attach(reserve("ada", 0).await, response(2 << 20), Duration::ZERO).await.unwrap();
    }

    #[tokio::test]
    async fn p19_the_largest_response_to_one_client_leaves_half_of_the_memory_to_others() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
        static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
        let memory = SHARES.reserve("ada".to_owned(), BUILD_FACTOR * (3 << 20)).await.unwrap();
        assert_eq!(BUDGET.free_bytes(), 2 << 20, "while it is built");
        let sent = attach(memory, response(3 << 20), Duration::ZERO).await.unwrap();
        assert_eq!(BUDGET.free_bytes(), 2 << 20, "while it is sent");
        let memory = SHARES.reserve("bob".to_owned(), 0).await.unwrap();
        attach(memory, response(2 << 20), Duration::ZERO).await.unwrap();
        drop(sent);
    }

    #[tokio::test]
    async fn p19_bundles_that_one_agent_does_not_read_leave_half_of_the_memory_to_others() {
        // Two of them are three quarters of the share of an agent.
        let bytes = usize::try_from(AGENT_RESPONSES.bytes() / 16 * 3).unwrap();
        let bundle = get(move || async move { vec![0_u8; bytes] });
        let router = Router::new().route("/agent/v1/releases/{release}/bundle/{digest}", bundle);
        let router = router.layer(from_fn(reserve_agent_response));
        let read = async |cluster: u64, digest: &str| {
            let agent =
                AuthenticatedAgent { cluster: ClusterId::from_parts(cluster, 1), serial: String::new() };
            let request = Request::get(format!("/agent/v1/releases/1/bundle/{digest}")).extension(agent);
            router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
        };
        let unread = (read(1, "a").await, read(1, "b").await);
        assert_eq!((unread.0.status(), unread.1.status()), (StatusCode::OK, StatusCode::OK));
        let refused = read(1, "c").await;
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        let text = to_bytes(refused.into_body(), usize::MAX).await.unwrap();
        assert!(String::from_utf8_lossy(&text).contains("responses to your cluster"), "{text:?}");
        let other = read(2, "a").await;
        assert_eq!(other.status(), StatusCode::OK);
        drop(unread);
        assert_eq!(read(1, "c").await.status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn p19_the_read_of_a_workload_with_the_name_status_waits_for_memory_whatever_it_prefers() {
        let server = TestRouter::start("reader-of-status").await;
        let user = "reader-of-status".to_owned();
        let in_use = UNKNOWN_RESPONSES_TO_USERS.reserve(user, u64::MAX).await.unwrap();
        let read = |workload: &str| {
            let request = server.request(Method::GET, &format!("{WORKLOADS}/{workload}"));
            server.send(request.header("prefer", "wait=1"), Body::empty())
        };
        assert_eq!(read("web/status").await.status(), StatusCode::NOT_FOUND, "it reserves nothing");
        assert!(!in_use.is_share_contended());
        let mut waiting = Box::pin(read("status"));
        while !in_use.is_share_contended() {
            tokio::select! {
                response = &mut waiting => panic!("it has reserved nothing: {}", response.status()),
                () = tokio::time::sleep(Duration::from_millis(1)) => {}
            }
        }
        drop(in_use);
        assert_eq!(waiting.await.status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn p19_responses_to_signed_in_users_are_counted_and_public_ones_are_not() {
        for kind in [RouteKind::Api, RouteKind::ServerFn, RouteKind::Page] {
            assert!(is_counted(kind), "{kind:?}");
        }
        assert!(!is_counted(RouteKind::Public) && !is_counted(RouteKind::Signed));
        assert!(has_read_verb("/api/v1/projects/default/workloads/web/-/validate"));
        assert!(!has_read_verb("/api/v1/projects/default/workloads/web/-/publish"));
        assert!(!has_read_verb("/api/v1/projects/default/workloads/validate"));
    }

    #[tokio::test]
    async fn p19_a_change_whose_response_gets_no_memory_is_answered_without_a_body_and_what_changed_nothing_is_refused()
     {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
        static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
        let others = BUDGET.reserve(3 << 20).await.unwrap();
        let changed = || {
            let mut response = response(2 << 20);
            *response.status_mut() = StatusCode::CREATED;
            response.headers_mut().insert("etag", HeaderValue::from_static("\"7\""));
            response
        };
        let memory = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
        let minimal = attach_to_change(memory, changed(), false, Duration::ZERO).await.unwrap();
        assert_eq!((minimal.status(), minimal.body().size_hint().exact()), (StatusCode::CREATED, Some(0)));
        assert_eq!(minimal.headers()["etag"], "\"7\"");
        assert_eq!(minimal.headers()["preference-applied"], "return=minimal");
        let memory = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
        assert!(attach_to_change(memory, changed(), true, Duration::ZERO).await.is_err());
        let memory = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
        let rejected = (StatusCode::UNPROCESSABLE_ENTITY, vec![b'a'; 2 << 20]).into_response();
        assert!(
            attach_to_change(memory, rejected, false, Duration::ZERO).await.is_err(),
            "nothing was changed"
        );
        drop(others);
        let memory = SHARES.reserve("ada".to_owned(), 0).await.unwrap();
        let complete = attach_to_change(memory, changed(), false, Duration::ZERO).await.unwrap();
        assert_eq!(complete.body().size_hint().exact(), Some(2 << 20));
        assert_eq!(BUDGET.free_bytes(), 2 << 20);
    }

    #[tokio::test]
    async fn p19_a_read_of_unknown_size_reserves_what_is_usual_and_of_a_known_one_what_it_needs() {
        let key = SizeKey::of_read("eve", &"/workloads/of-a-test".parse().unwrap());
        let share = UNKNOWN_RESPONSES_TO_USERS.reserve("eve".to_owned(), 0).await.unwrap();
        let free = share.free_bytes();
        let unknown = reserve_for_read("eve".to_owned(), RouteKind::Page, &key).await.unwrap();
        assert_eq!(share.free_bytes(), free - UNKNOWN_PAGE_BYTES.min(free));
        drop(unknown);
        SIZES.record(&key, &response(1 << 20));
        let known = reserve_for_read("eve".to_owned(), RouteKind::Page, &key).await.unwrap();
        assert_eq!(share.free_bytes(), free);
        drop(known);
        SIZES.record(&key, &response(1 << 10));
        let small = reserve_for_read("eve".to_owned(), RouteKind::Page, &key).await.unwrap();
        assert_eq!(share.free_bytes(), free - SMALL_PAGE_BYTES);
        drop(small);
    }
}
