//! Memory for large bodies: reserved before a body is read, by its stated size, and released with the response.
//!
//! Each body has a limit of its own, and many at the same time would have none. A body of the usual size needs no reservation, so that
//! usual requests never wait for large ones. Only authenticated clients get one, and each user at most half of it, so that slow large
//! bodies of one user do not stop those of others.

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, TRANSFER_ENCODING};
use axum::http::{HeaderValue, Version};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use hub::Actor;
use parking_lot::Mutex;
use source::memory_budget::{AGENT_MESSAGES, MemoryBudget, MemoryExhausted, REQUEST_BODIES};

use crate::access::refuse_busy;
use crate::agents::MAX_REPORT_BYTES;
use crate::input::is_json;
use crate::problem::ApiError;
use crate::router::{DEFAULT_BODY_BYTES, MAX_BODY_BYTES};
use crate::site::Site;

/// What a body in JSON needs at most while it is parsed, as a multiple of its size: its values are larger than their text.
const JSON_FACTOR: u64 = 16;
/// Users that are remembered although they send nothing now.
const MAX_IDLE_USERS: usize = 100;

/// The budget of each user with a large body.
static USERS: Mutex<Option<HashMap<String, Arc<MemoryBudget>>>> = Mutex::new(None);

/// Middleware: reserves memory for the large body of a signed-in user or a program. Public routes have small bodies.
pub async fn reserve_request_body(State(site): State<Site>, request: Request, next: Next) -> Response {
    let bytes = body_bytes(&request, MAX_BODY_BYTES as u64);
    let actor = request.extensions().get::<Actor>().map(|actor| actor.name.clone());
    let Some(user) = actor.filter(|_| bytes > DEFAULT_BODY_BYTES as u64) else {
        return next.run(request).await;
    };
    let bytes = bytes.saturating_mul(memory_factor(&request));
    let share = find_share(user);
    let reserved = async {
        let own = share.reserve(bytes).await?;
        Ok::<_, MemoryExhausted>((own, REQUEST_BODIES.reserve(bytes).await?))
    };
    match reserved.await {
        Ok(_reserved) => next.run(request).await,
        Err(exhausted) => refuse_busy(&site, request.uri().path(), request.headers(), exhausted),
    }
}

/// Middleware: reserves memory for a large message of an agent, which has presented its certificate.
pub async fn reserve_agent_message(request: Request, next: Next) -> Response {
    let bytes = body_bytes(&request, MAX_REPORT_BYTES as u64);
    if bytes <= DEFAULT_BODY_BYTES as u64 {
        return next.run(request).await;
    }
    match AGENT_MESSAGES.reserve(bytes).await {
        Ok(_reserved) => next.run(request).await,
        Err(exhausted) => ApiError::from(hub::Error::from(exhausted)).into_response(),
    }
}

/// The budget of a user.
fn find_share(user: String) -> Arc<MemoryBudget> {
    let mut users = USERS.lock();
    let users = users.get_or_insert_default();
    if users.len() >= MAX_IDLE_USERS {
        users.retain(|_, share| Arc::strong_count(share) > 1);
    }
    let create = || Arc::new(MemoryBudget::new("bodies of your requests", REQUEST_BODIES.bytes() / 2));
    users.entry(user).or_insert_with(create).clone()
}

/// The most bytes that the body may have. Without a stated size that is the limit, unless there is no body.
fn body_bytes<B>(request: &axum::http::Request<B>, max_bytes: u64) -> u64 {
    let stated = request.headers().get(CONTENT_LENGTH).map(HeaderValue::to_str);
    let may_have_body = request.headers().contains_key(TRANSFER_ENCODING)
        || (request.version() == Version::HTTP_2 && !request.method().is_safe());
    match stated {
        Some(Ok(text)) => text.parse().map_or(max_bytes, |bytes: u64| bytes.min(max_bytes)),
        Some(Err(_)) => max_bytes,
        None if may_have_body => max_bytes,
        None => 0,
    }
}

/// What the body needs in memory, as a multiple of its size. Other content than JSON is kept as it is.
fn memory_factor<B>(request: &axum::http::Request<B>) -> u64 {
    let media_type = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if media_type.is_some_and(is_json) { JSON_FACTOR } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p19_a_body_without_a_stated_size_counts_as_the_largest_one() {
        let request = || axum::http::Request::builder().method("POST");
        let count = |builder: axum::http::request::Builder| body_bytes(&builder.body(()).unwrap(), 100);
        assert_eq!(count(request()), 0);
        assert_eq!(count(request().header(CONTENT_LENGTH, "7")), 7);
        assert_eq!(count(request().header(CONTENT_LENGTH, "101")), 100);
        assert_eq!(count(request().header(CONTENT_LENGTH, "many")), 100);
        assert_eq!(count(request().header(TRANSFER_ENCODING, "chunked")), 100);
        assert_eq!(count(request().version(Version::HTTP_2)), 100);
        assert_eq!(count(request().version(Version::HTTP_2).method("GET")), 0);
    }

    #[test]
    fn p19_a_body_in_json_reserves_a_multiple_of_its_size_and_an_upload_does_not() {
        let factor = |media_type: &str| {
            let request = axum::http::Request::builder().header(CONTENT_TYPE, media_type);
            memory_factor(&request.body(()).unwrap())
        };
        assert_eq!(factor("application/json; charset=utf-8"), JSON_FACTOR);
        assert_eq!(factor("application/merge-patch+json"), JSON_FACTOR);
        assert_eq!(factor("application/gzip"), 1);
        assert_eq!(memory_factor(&axum::http::Request::new(())), 1);
    }
}
