//! Memory for large responses: reserved before a response is built, and released when it is sent.
//!
//! A response is built in memory, pages of the console too, and a client that reads slowly keeps it there. Without a budget, many clients
//! that read something large at the same time need a multiple of what their requests reserve. How large a response becomes is known only
//! afterwards, so the size of the last response to the same request is what the next one waits for; a first request reserves little, and is
//! refused if it turns out to be larger than what is free. Only reads are refused: the response to a change is the only record of it for
//! the client. Each user and each agent has a share ([`source::client_shares`]).

use std::collections::HashMap;
use std::sync::LazyLock;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use hub::{Actor, AuthenticatedAgent};
use parking_lot::Mutex;
use source::client_shares::{
    ClientReservation, RESPONSES_TO_AGENTS, RESPONSES_TO_USERS, UNKNOWN_RESPONSES_TO_USERS,
};
use source::memory_budget::MemoryExhausted;

use crate::access::{RouteKind, refuse_busy, route_kind};
use crate::input::preferred_wait;
use crate::problem::ApiError;
use crate::site::Site;

/// Responses of at most this many bytes need no reservation.
const SMALL_BYTES: u64 = 64 << 10;
/// What a response of unknown size reserves while it is built.
const UNKNOWN_BYTES: u64 = 1 << 20;
/// The same for a bundle that an agent requests: many agents request one at once.
const UNKNOWN_BUNDLE_BYTES: u64 = 256 << 10;
/// What a response needs while it is built, as a multiple of its size: its values are larger than their text.
const BUILD_FACTOR: u64 = 4;
/// The same for a bundle: it is decrypted, and not parsed.
const BUNDLE_FACTOR: u64 = 2;
/// How many sizes are remembered.
const MAX_SIZES: usize = 4_000;
/// Longest address whose size is remembered, in bytes.
const MAX_KEY_BYTES: usize = 512;

/// The sizes of the last responses to users, by address.
static SIZES: LazyLock<ResponseSizes> = LazyLock::new(ResponseSizes::default);
/// The sizes of bundles, by digest.
static BUNDLE_SIZES: LazyLock<ResponseSizes> = LazyLock::new(ResponseSizes::default);

/// The sizes of the last responses, by what was requested.
#[derive(Default)]
struct ResponseSizes(Mutex<HashMap<String, u64>>);

/// A body with the reservation of its memory, which ends when its last byte is sent.
struct ReservedBytes {
    bytes: Bytes,
    _memory: ClientReservation,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl ResponseSizes {
    /// What a response will need while it is built, as a multiple of the last one; `None` if there was none.
    fn find_expected_bytes(&self, key: &str, factor: u64) -> Option<u64> {
        let size = self.0.lock().get(key).copied()?;
        Some(if size > SMALL_BYTES { size.saturating_mul(factor) } else { 0 })
    }

    /// Remembers the size of a response, unless it is an error or a stream.
    fn record(&self, key: String, response: &Response) {
        let size = response.body().size_hint().exact().filter(|_| response.status().is_success());
        let Some(size) = size.filter(|_| !key.is_empty() && key.len() <= MAX_KEY_BYTES) else { return };
        let mut sizes = self.0.lock();
        if sizes.len() >= MAX_SIZES && !sizes.contains_key(&key) {
            // Any of them: its next response counts as one of unknown size.
            let removed = sizes.keys().next().cloned();
            if let Some(removed) = removed {
                sizes.remove(&removed);
            }
        }
        sizes.insert(key, size);
    }
}

/// Middleware: reserves memory for the large response to a read of a signed-in user or a program.
pub async fn reserve_response(State(site): State<Site>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let kind = route_kind(&site, &path);
    let user = request.extensions().get::<Actor>().map(|actor| actor.name.clone());
    let Some(user) = user.filter(|_| is_read(request.method(), kind)) else {
        return next.run(request).await;
    };
    let is_get = request.method() == Method::GET;
    let key = size_key(request.uri());
    let headers = request.headers().clone();
    let (expected, unknown) = match SIZES.find_expected_bytes(&key, BUILD_FACTOR) {
        // It would keep its reservation for as long as it waits.
        _ if is_waiting(&request, kind) => (0, 0),
        Some(bytes) => (bytes, 0),
        None => (0, UNKNOWN_BYTES),
    };
    let reserved = async {
        let _until_built = UNKNOWN_RESPONSES_TO_USERS.reserve(user.clone(), unknown).await?;
        let memory = RESPONSES_TO_USERS.reserve(user, expected).await?;
        let response = next.run(request).await;
        // A response to `HEAD` is built as that to `GET`, and has no body.
        if is_get {
            SIZES.record(key, &response);
        }
        attach(memory, response).await
    };
    match reserved.await {
        Ok(response) => response,
        Err(exhausted) => refuse_busy(&site, &path, &headers, exhausted),
    }
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
    let expected = match key.is_empty() {
        true => 0,
        false => BUNDLE_SIZES.find_expected_bytes(&key, BUNDLE_FACTOR).unwrap_or(UNKNOWN_BUNDLE_BYTES),
    };
    let reserved = async {
        let memory = RESPONSES_TO_AGENTS.reserve(cluster, expected).await?;
        let response = next.run(request).await;
        BUNDLE_SIZES.record(key, &response);
        attach(memory, response).await
    };
    match reserved.await {
        Ok(response) => response,
        Err(exhausted) => ApiError::from(hub::Error::from(exhausted)).into_response(),
    }
}

/// Whether a request reads something that is built in memory and may be refused.
fn is_read(method: &Method, kind: RouteKind) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
        && matches!(kind, RouteKind::Api | RouteKind::ServerFn | RouteKind::Page)
}

/// Whether a read waits for something: for the results of a plan by `?wait=…`, which other operations do not have, or for the status of a
/// workload by `Prefer: wait=…`.
fn is_waiting(request: &Request, kind: RouteKind) -> bool {
    let mut pairs = request.uri().query().unwrap_or_default().split('&');
    let has_wait = pairs.any(|pair| pair.strip_prefix("wait=").is_some_and(|seconds| seconds != "0"));
    let prefers_wait = request.uri().path().ends_with("/status")
        && preferred_wait(request.headers()).is_some_and(|wait| !wait.is_zero());
    kind == RouteKind::Api && (has_wait || prefers_wait)
}

/// The response with as much memory as it needs until it is sent. It is built already: what is not free now is refused.
async fn attach(mut memory: ClientReservation, response: Response) -> Result<Response, MemoryExhausted> {
    let Some(size) = response.body().size_hint().exact().filter(|size| *size > SMALL_BYTES) else {
        return Ok(response);
    };
    memory.resize(size).await?;
    let (head, body) = response.into_parts();
    match to_bytes(body, usize::MAX).await {
        Ok(bytes) => {
            let body = Body::from(Bytes::from_owner(ReservedBytes { bytes, _memory: memory }));
            Ok(Response::from_parts(head, body))
        }
        Err(error) => {
            tracing::error!(%error, "a response can't be read");
            Ok(ApiError::from_status(StatusCode::INTERNAL_SERVER_ERROR).into_response())
        }
    }
}

/// What a response is remembered by; empty for an address that is too long.
fn size_key(uri: &Uri) -> String {
    let address = uri.path_and_query().map_or_else(|| uri.path(), |address| address.as_str());
    if address.len() > MAX_KEY_BYTES { String::new() } else { address.to_owned() }
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

    fn response(bytes: usize) -> Response {
        Body::from(vec![b'a'; bytes]).into_response()
    }

    #[tokio::test]
    async fn p19_a_large_response_retains_its_memory_until_its_last_byte_is_sent() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 8 << 20));
        static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
        let memory = SHARES.reserve("ada".to_owned(), 3 << 20).await.unwrap();
        let sent = attach(memory, response(1 << 20)).await.unwrap();
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
        let refused = attach(reserve("ada", 0).await, response(2 << 20)).await.unwrap_err();
        assert!(refused.to_string().contains("a test (4 MiB)"), "{refused}");
        assert_eq!(BUDGET.free_bytes(), 1 << 20);
        let rest = BUDGET.reserve(1 << 20).await.unwrap();
        attach(reserve("ada", 0).await, response(64 << 10)).await.unwrap();
        drop((others, rest));
        attach(reserve("ada", 0).await, response(2 << 20)).await.unwrap();
    }

    #[tokio::test]
    async fn p19_the_largest_response_to_one_client_leaves_half_of_the_memory_to_others() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
        static SHARES: ClientShares = ClientShares::new(&BUDGET, "a test of one client");
        let memory = SHARES.reserve("ada".to_owned(), BUILD_FACTOR * (3 << 20)).await.unwrap();
        assert_eq!(BUDGET.free_bytes(), 2 << 20, "while it is built");
        let sent = attach(memory, response(3 << 20)).await.unwrap();
        assert_eq!(BUDGET.free_bytes(), 2 << 20, "while it is sent");
        let memory = SHARES.reserve("bob".to_owned(), 0).await.unwrap();
        attach(memory, response(2 << 20)).await.unwrap();
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

    #[test]
    fn p19_the_next_response_is_expected_to_be_as_large_as_the_last_one() {
        let sizes = ResponseSizes::default();
        let address = "/api/v1/projects/default/workloads/expected?x=1";
        let key = || size_key(&address.parse().unwrap());
        assert_eq!(sizes.find_expected_bytes(&key(), 4), None);
        sizes.record(key(), &response(1 << 20));
        assert_eq!(sizes.find_expected_bytes(&key(), 4), Some(4 << 20));
        sizes.record(key(), &(StatusCode::SERVICE_UNAVAILABLE, "busy").into_response());
        assert_eq!(sizes.find_expected_bytes(&key(), 4), Some(4 << 20), "an error is not the response");
        sizes.record(key(), &response(100));
        assert_eq!(sizes.find_expected_bytes(&key(), 4), Some(0));
        let long = format!("/{}", "a".repeat(MAX_KEY_BYTES));
        sizes.record(size_key(&long.parse().unwrap()), &response(100));
        assert_eq!(sizes.find_expected_bytes(&size_key(&long.parse().unwrap()), 4), None);
    }

    #[test]
    fn p19_sizes_beyond_the_limit_replace_one_and_not_all() {
        let sizes = ResponseSizes::default();
        for number in 0..=MAX_SIZES {
            sizes.record(number.to_string(), &response(100));
        }
        let known =
            (0..=MAX_SIZES).filter(|number| sizes.find_expected_bytes(&number.to_string(), 4).is_some());
        assert_eq!(known.count(), MAX_SIZES);
        assert_eq!(sizes.find_expected_bytes(&MAX_SIZES.to_string(), 4), Some(0), "the last one is known");
    }

    #[test]
    fn p19_a_read_that_waits_is_recognized_and_no_other_one_evades_its_reservation() {
        let waits = |address: &str, prefer: &str, kind: RouteKind| {
            let request = Request::get(address).header("prefer", prefer).body(Body::empty()).unwrap();
            is_waiting(&request, kind)
        };
        let status = "/api/v1/projects/default/workloads/web/status";
        assert!(waits("/api/v1/plans/1?wait=30", "", RouteKind::Api));
        assert!(waits(status, "wait=30", RouteKind::Api));
        assert!(!waits("/api/v1/plans/1?wait=0", "", RouteKind::Api));
        assert!(!waits("/api/v1/plans/1?q=await=", "", RouteKind::Api));
        assert!(!waits("/api/v1/projects/default/workloads/web", "wait=30", RouteKind::Api));
        assert!(!waits(status, "wait=0", RouteKind::Api));
        assert!(!waits("/api/fn/source_get?wait=30", "wait=30", RouteKind::ServerFn));
        assert!(!waits("/workloads/web?wait=30", "wait=30", RouteKind::Page));
    }

    #[test]
    fn p19_pages_and_reads_of_the_api_are_counted_with_both_methods_and_changes_are_not() {
        for kind in [RouteKind::Api, RouteKind::ServerFn, RouteKind::Page] {
            assert!(is_read(&Method::GET, kind) && is_read(&Method::HEAD, kind), "{kind:?}");
            assert!(!is_read(&Method::POST, kind), "{kind:?}");
        }
        assert!(!is_read(&Method::GET, RouteKind::Public));
    }
}
