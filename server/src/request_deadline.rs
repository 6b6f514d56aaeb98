//! Until when a request waits for clusters. Its time limit ([`crate::router`]) begins with its arrival: what it has waited for before, its
//! turn, its body, memory and renderings, shortens this wait. Otherwise a change would be stored, and then be answered with an error.

use std::time::Duration;

use axum::extract::{FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use source::memory_budget::SharedWait;
use tokio::time::Instant;

use crate::problem::ApiError;

/// The wait of a request without the header.
const DEFAULT_WAIT: Duration = Duration::from_secs(30);
/// The longest wait, from the arrival of the request; what follows it has the rest of the time limit of responses.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// In the extensions of a request: when its head arrived.
#[derive(Debug, Clone, Copy)]
pub struct ArrivalTime(Instant);

/// Records when a request arrived.
pub fn record_arrival(mut request: Request) -> Request {
    request.extensions_mut().insert(ArrivalTime(Instant::now()));
    request
}

/// Middleware: a request waits for memory in all as long as for one reservation, however many it makes one after the other.
pub async fn share_memory_wait(request: Request, next: Next) -> Response {
    SharedWait::default().run(next.run(request)).await
}

impl ArrivalTime {
    /// That of a request.
    ///
    /// # Errors
    /// It was not recorded, which is an error of the server.
    pub fn of_request(extensions: &Extensions) -> Result<Self, ApiError> {
        extensions.get().copied().ok_or_else(|| ApiError::from_status(StatusCode::INTERNAL_SERVER_ERROR))
    }

    /// As much of this wait as is left.
    pub fn limit(self, wait: Duration) -> Duration {
        wait.min((self.0 + MAX_WAIT).saturating_duration_since(Instant::now()))
    }

    /// When the wait ends that the client prefers, or this one if it has no preference.
    pub fn deadline(self, headers: &HeaderMap, default: Duration) -> Instant {
        self.0 + preferred_wait(headers).unwrap_or(default)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ArrivalTime {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        Self::of_request(&parts.extensions)
    }
}

/// Until when the caller waits for the outcome of an operation: `Prefer: wait=<seconds>` from the arrival of the request (RFC 7240).
#[derive(Debug, Clone, Copy)]
pub struct OutcomeDeadline(pub Instant);

impl<S: Send + Sync> FromRequestParts<S> for OutcomeDeadline {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let arrival = ArrivalTime::of_request(&parts.extensions)?;
        Ok(Self(arrival.deadline(&parts.headers, DEFAULT_WAIT)))
    }
}

/// The wait that a client prefers, at most [`MAX_WAIT`]; `None` if it has no preference, or one that can't be read, which is ignored as
/// RFC 7240 requires.
pub fn preferred_wait(headers: &HeaderMap) -> Option<Duration> {
    let preferences = headers.get_all("prefer").iter().filter_map(|value| value.to_str().ok());
    let mut parts = preferences.flat_map(|value| value.split([',', ';']));
    let seconds = parts.find_map(|part| part.trim().strip_prefix("wait=")?.parse().ok())?;
    Some(Duration::from_secs(seconds).min(MAX_WAIT))
}

#[cfg(test)]
mod tests {
    use axum::body::Body;

    use super::*;
    use crate::router::RESPONSE_TIMEOUT;

    fn prefer(value: &str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("prefer", value.parse().unwrap());
        headers
    }

    #[test]
    fn a_wait_is_bounded_and_an_invalid_one_is_ignored() {
        let seconds = |value: &str| preferred_wait(&prefer(value)).map(|wait| wait.as_secs());
        assert_eq!(seconds("wait=30"), Some(30));
        assert_eq!(seconds("wait=0"), Some(0));
        assert_eq!(seconds("respond-async, wait=5"), Some(5));
        assert_eq!(seconds("wait=99999999"), Some(60));
        assert_eq!(seconds("wait=-1"), None);
        assert_eq!(preferred_wait(&HeaderMap::new()), None);
    }

    #[tokio::test(start_paused = true)]
    async fn p20_what_a_request_has_waited_for_before_shortens_its_wait_for_clusters() {
        let request = record_arrival(Request::new(Body::empty()));
        let arrived = Instant::now();
        let seconds = Duration::from_secs;
        tokio::time::advance(seconds(45)).await;
        let arrival = ArrivalTime::of_request(request.extensions()).unwrap();
        assert_eq!(arrival.deadline(&prefer("wait=60"), DEFAULT_WAIT), arrived + seconds(60));
        assert_eq!(arrival.deadline(&HeaderMap::new(), DEFAULT_WAIT), arrived + seconds(30));
        assert_eq!((arrival.limit(seconds(10)), arrival.limit(seconds(30))), (seconds(10), seconds(15)));
        tokio::time::advance(seconds(45)).await;
        assert_eq!(arrival.limit(seconds(30)), Duration::ZERO);
        assert!(MAX_WAIT < RESPONSE_TIMEOUT, "the outcome is read after the wait");
    }
}
