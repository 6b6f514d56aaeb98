//! Memory for large responses: reserved before a response is built, and released when it is sent.
//!
//! A response is built in memory, and a client that reads slowly keeps it there. Without a budget, many clients that read something
//! large at the same time need a multiple of what their requests reserve. How large a response becomes is known only afterwards, so the
//! size of the last response to the same request is what the next one waits for; a first request reserves little, and is refused if it
//! turns out to be larger than what is free. Only reads are refused: the response to a change tells that it was made.

use std::collections::HashMap;
use std::time::Duration;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::extract::{Request, State};
use axum::http::{Method, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use bytes::Bytes;
use hub::Actor;
use parking_lot::Mutex;
use source::memory_budget::{AGENT_RESPONSES, MemoryBudget, MemoryExhausted, MemoryReservation, RESPONSES};

use crate::access::{RouteKind, refuse_busy, route_kind};
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
/// How many sizes are remembered.
const MAX_SIZES: usize = 4_000;
/// Longest address whose size is remembered, in bytes.
const MAX_KEY_BYTES: usize = 512;

/// The sizes of the last responses, by what was requested.
static SIZES: Mutex<Option<HashMap<String, u64>>> = Mutex::new(None);
/// The budgets of each user. They are never removed, because a response may still use them.
static USERS: Mutex<Option<HashMap<String, UserShares>>> = Mutex::new(None);

/// The budgets of a user.
#[derive(Clone, Copy)]
struct UserShares {
    /// For large responses until they are sent: half of the memory for all.
    large: &'static MemoryBudget,
    /// For responses of unknown size while they are built. Many of them wait for something, so that they have a part of their own, and
    /// nobody else waits for it.
    unknown: &'static MemoryBudget,
}

/// A body with the reservations of its memory, which end when its last byte is sent.
struct ReservedBytes {
    bytes: Bytes,
    _memory: Vec<MemoryReservation<'static>>,
}

impl AsRef<[u8]> for ReservedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// The budgets of a response, and what is reserved of each.
struct ResponseMemory {
    parts: Vec<(&'static MemoryBudget, MemoryReservation<'static>)>,
}

impl ResponseMemory {
    /// Reserves so many bytes of each budget, and waits for them.
    async fn reserve(budgets: &[(&'static MemoryBudget, u64)]) -> Result<Self, MemoryExhausted> {
        let mut parts = Vec::with_capacity(budgets.len());
        for (budget, bytes) in budgets.iter().copied() {
            parts.push((budget, budget.reserve(bytes).await?));
        }
        Ok(Self { parts })
    }

    /// The response with as much memory as it needs until it is sent. It is built already: what is not free now is refused.
    async fn attach(mut self, response: Response) -> Result<Response, MemoryExhausted> {
        let Some(size) = response.body().size_hint().exact().filter(|size| *size > SMALL_BYTES) else {
            return Ok(response);
        };
        for (budget, reservation) in &mut self.parts {
            budget.extend_within(reservation, size, Duration::ZERO).await?;
            reservation.shrink_to(size);
        }
        let (head, body) = response.into_parts();
        let bytes = match to_bytes(body, usize::MAX).await {
            Ok(bytes) => bytes,
            Err(error) => {
                tracing::error!(%error, "a response can't be read");
                return Ok(
                    ApiError::from_status(axum::http::StatusCode::INTERNAL_SERVER_ERROR).into_response()
                );
            }
        };
        let _memory = self.parts.into_iter().map(|(_, reservation)| reservation).collect();
        let body = Body::from(Bytes::from_owner(ReservedBytes { bytes, _memory }));
        Ok(Response::from_parts(head, body))
    }
}

/// Middleware: reserves memory for the large response to a read of a signed-in user or a program.
pub async fn reserve_response(State(site): State<Site>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let is_read = request.method() == Method::GET
        && path.starts_with("/api/")
        && matches!(route_kind(&site, &path), RouteKind::Api | RouteKind::ServerFn);
    let user = request.extensions().get::<Actor>().map(|actor| actor.name.clone());
    let Some(user) = user.filter(|_| is_read) else {
        return next.run(request).await;
    };
    let key = size_key(request.uri());
    let headers = request.headers().clone();
    let (expected, unknown) = match find_expected_bytes(&key) {
        // One that waits for something reserves nothing meanwhile.
        _ if request.uri().query().is_some_and(|query| query.contains("wait=")) => (0, 0),
        Some(bytes) => (bytes, 0),
        None => (0, UNKNOWN_BYTES),
    };
    let shares = find_shares(user);
    let reserved = async {
        let _until_built = shares.unknown.reserve(unknown).await?;
        let memory = ResponseMemory::reserve(&[(shares.large, expected), (&*RESPONSES, expected)]).await?;
        let response = next.run(request).await;
        record_size(key, &response);
        memory.attach(response).await
    };
    match reserved.await {
        Ok(response) => response,
        Err(exhausted) => refuse_busy(&site, &path, &headers, exhausted),
    }
}

/// Middleware: the same for a read of an agent, which has presented its certificate.
pub async fn reserve_agent_response(request: Request, next: Next) -> Response {
    if request.method() != Method::GET {
        return next.run(request).await;
    }
    // The same bundle is served to many clusters. Everything else waits for changes.
    let digest = request.uri().path().rsplit_once("/bundle/").map(|(_, digest)| digest.to_owned());
    let key = digest.unwrap_or_default();
    let expected = match key.is_empty() {
        true => 0,
        false => find_expected_bytes(&key).unwrap_or(UNKNOWN_BUNDLE_BYTES),
    };
    let reserved = async {
        let memory = ResponseMemory::reserve(&[(&*AGENT_RESPONSES, expected)]).await?;
        let response = next.run(request).await;
        record_size(key, &response);
        memory.attach(response).await
    };
    match reserved.await {
        Ok(response) => response,
        Err(exhausted) => ApiError::from(hub::Error::from(exhausted)).into_response(),
    }
}

/// What a response is remembered by; empty for an address that is too long.
fn size_key(uri: &Uri) -> String {
    let address = uri.path_and_query().map_or_else(|| uri.path(), |address| address.as_str());
    if address.len() > MAX_KEY_BYTES { String::new() } else { address.to_owned() }
}

/// What the response will need while it is built, by the last one; `None` if there was none.
fn find_expected_bytes(key: &str) -> Option<u64> {
    let size = SIZES.lock().as_ref().and_then(|sizes| sizes.get(key).copied())?;
    Some(if size > SMALL_BYTES { size.saturating_mul(BUILD_FACTOR) } else { 0 })
}

/// Remembers the size of a response, unless it is an error or a stream.
fn record_size(key: String, response: &Response) {
    let size = response.body().size_hint().exact().filter(|_| response.status().is_success());
    let Some(size) = size.filter(|_| !key.is_empty() && key.len() <= MAX_KEY_BYTES) else { return };
    let mut sizes = SIZES.lock();
    let sizes = sizes.get_or_insert_default();
    if sizes.len() >= MAX_SIZES && !sizes.contains_key(&key) {
        sizes.clear();
    }
    sizes.insert(key, size);
}

/// The budgets of a user.
fn find_shares(user: String) -> UserShares {
    let mut users = USERS.lock();
    let users = users.get_or_insert_default();
    let create = |purpose: &'static str, parts: u64| -> &'static MemoryBudget {
        Box::leak(Box::new(MemoryBudget::new(purpose, RESPONSES.bytes() / parts)))
    };
    *users.entry(user).or_insert_with(|| UserShares {
        large: create("your large responses", 2),
        unknown: create("your responses of unknown size", 4),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response(bytes: usize) -> Response {
        Body::from(vec![b'a'; bytes]).into_response()
    }

    #[tokio::test]
    async fn p19_a_large_response_retains_its_memory_until_its_last_byte_is_sent() {
        static BUDGET: MemoryBudget = MemoryBudget::new("a test", 4 << 20);
        let memory = ResponseMemory::reserve(&[(&BUDGET, 3 << 20)]).await.unwrap();
        let sent = memory.attach(response(1 << 20)).await.unwrap();
        assert_eq!(BUDGET.free_bytes(), 3 << 20, "what was needed to build it is free again");
        assert_eq!(sent.body().size_hint().exact(), Some(1 << 20));
        let mut bytes = to_bytes(sent.into_body(), usize::MAX).await.unwrap();
        let end = bytes.split_off(bytes.len() - 1);
        drop(bytes);
        assert_eq!(BUDGET.free_bytes(), 3 << 20);
        drop(end);
        assert_eq!(BUDGET.free_bytes(), 4 << 20);
    }

    #[tokio::test]
    async fn p19_a_response_of_unexpected_size_is_refused_if_its_memory_is_not_free_and_a_small_one_never() {
        static BUDGET: MemoryBudget = MemoryBudget::new("a test", 2 << 20);
        let others = BUDGET.reserve(1 << 20).await.unwrap();
        let reserve = async || ResponseMemory::reserve(&[(&BUDGET, 0)]).await;
        let refused = reserve().await.unwrap().attach(response(2 << 20)).await.unwrap_err();
        assert!(refused.to_string().contains("a test"), "{refused}");
        assert_eq!(BUDGET.free_bytes(), 1 << 20);
        let all = BUDGET.reserve(1 << 20).await.unwrap();
        reserve().await.unwrap().attach(response(64 << 10)).await.unwrap();
        drop((others, all));
        reserve().await.unwrap().attach(response(2 << 20)).await.unwrap();
    }

    #[test]
    fn p19_the_next_response_is_expected_to_be_as_large_as_the_last_one() {
        let address = "/api/v1/projects/default/workloads/expected?x=1";
        let key = || size_key(&address.parse().unwrap());
        assert_eq!(find_expected_bytes(&key()), None);
        record_size(key(), &response(1 << 20));
        assert_eq!(find_expected_bytes(&key()), Some(BUILD_FACTOR << 20));
        record_size(key(), &(axum::http::StatusCode::SERVICE_UNAVAILABLE, "busy").into_response());
        assert_eq!(find_expected_bytes(&key()), Some(BUILD_FACTOR << 20), "an error is not the response");
        record_size(key(), &response(100));
        assert_eq!(find_expected_bytes(&key()), Some(0));
        let long = format!("/{}", "a".repeat(MAX_KEY_BYTES));
        record_size(size_key(&long.parse().unwrap()), &response(100));
        assert_eq!(find_expected_bytes(&size_key(&long.parse().unwrap())), None);
    }
}
