//! Rate limits for session starts, which all agents send at the same time after an outage of the hub, and for
//! registrations, which cost the hub something even when they are rejected (P20).

use std::time::Duration;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use rand::Rng as _;
use tokio::time::Instant;

use crate::problem::ApiError;

/// How many requests are accepted.
struct Rate {
    per_second: f64,
    burst: f64,
}

/// Session starts.
const SESSION_RATE: Rate = Rate { per_second: 100.0, burst: 500.0 };
/// Registration attempts.
const REGISTRATION_RATE: Rate = Rate { per_second: 10.0, burst: 50.0 };
/// Largest `Retry-After` of a rejected request, in seconds; the value is random, so that retries spread.
const MAX_RETRY_AFTER_SECONDS: u64 = 60;

/// One token bucket per kind of request.
pub struct RateLimits {
    sessions: TokenBucket,
    registrations: TokenBucket,
}

impl RateLimits {
    /// Starts with full buckets.
    pub fn new() -> Self {
        Self { sessions: TokenBucket::new(SESSION_RATE), registrations: TokenBucket::new(REGISTRATION_RATE) }
    }

    /// Takes a token for a session start; an error if there is none.
    pub fn check_session(&self) -> Result<(), RateLimited> {
        self.sessions.try_acquire(Instant::now())
    }

    /// Takes a token for a registration attempt; an error if there is none.
    pub fn check_registration(&self) -> Result<(), RateLimited> {
        self.registrations.try_acquire(Instant::now())
    }
}

struct TokenBucket {
    rate: Rate,
    level: Mutex<(f64, Instant)>,
}

impl TokenBucket {
    fn new(rate: Rate) -> Self {
        Self { level: Mutex::new((rate.burst, Instant::now())), rate }
    }

    fn try_acquire(&self, now: Instant) -> Result<(), RateLimited> {
        let mut left = self.level.lock();
        let gone: Duration = now.saturating_duration_since(left.1);
        let filled = gone.as_secs_f64().mul_add(self.rate.per_second, left.0).min(self.rate.burst);
        let enough = filled >= 1.0;
        *left = (if enough { filled - 1.0 } else { filled }, now);
        if enough { Ok(()) } else { Err(RateLimited) }
    }
}

/// The rate limit is reached: 503 with a random `Retry-After`.
#[derive(Debug)]
pub struct RateLimited;

impl IntoResponse for RateLimited {
    fn into_response(self) -> Response {
        let detail =
            "Too many agents connect at the same time. Retry after the time in the Retry-After header.";
        let refusal = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "RateLimited", detail);
        let mut response = refusal.into_response();
        let seconds = rand::rng().random_range(1..=MAX_RETRY_AFTER_SECONDS);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p20_a_token_bucket_allows_its_burst_and_refills_at_its_rate() {
        let bucket = TokenBucket::new(Rate { per_second: 10.0, burst: 2.0 });
        let start = Instant::now();
        assert!(bucket.try_acquire(start).is_ok() && bucket.try_acquire(start).is_ok());
        assert!(bucket.try_acquire(start).is_err());
        assert!(bucket.try_acquire(start + Duration::from_millis(50)).is_err());
        assert!(bucket.try_acquire(start + Duration::from_millis(150)).is_ok());
        let later = start + Duration::from_secs(60);
        assert!(
            bucket.try_acquire(later).is_ok()
                && bucket.try_acquire(later).is_ok()
                && bucket.try_acquire(later).is_err()
        );
    }
}
