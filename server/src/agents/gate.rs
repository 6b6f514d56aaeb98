//! So many a second and no more: what costs the hub something even when it is refused, and what all agents do at once
//! after the hub was away (P20).

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use rand::Rng as _;
use tokio::time::Instant;

use crate::problem::Refusal;

/// Agents that may begin in a second, and at once after a quiet time.
const BEGINNINGS: (f64, f64) = (100.0, 500.0);
/// Tries to register in a second, and at once after a quiet time.
const REGISTRATIONS: (f64, f64) = (10.0, 50.0);
/// Who is sent away comes back within this time, in seconds: each at another moment.
const COME_BACK: u64 = 60;

/// Both buckets.
pub struct Gate {
    beginnings: Bucket,
    registrations: Bucket,
}

impl Gate {
    /// Full buckets.
    pub fn new() -> Self {
        Self { beginnings: Bucket::new(BEGINNINGS), registrations: Bucket::new(REGISTRATIONS) }
    }

    /// Whether an agent may begin now.
    pub fn begin(&self) -> Result<(), Later> {
        self.beginnings.take(Instant::now())
    }

    /// Whether somebody may try to register now.
    pub fn register(&self) -> Result<(), Later> {
        self.registrations.take(Instant::now())
    }
}

struct Bucket {
    rate: f64,
    most: f64,
    left: Mutex<(f64, Instant)>,
}

impl Bucket {
    fn new((rate, most): (f64, f64)) -> Self {
        Self { rate, most, left: Mutex::new((most, Instant::now())) }
    }

    fn take(&self, now: Instant) -> Result<(), Later> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let gone: Duration = now.saturating_duration_since(left.1);
        let filled = gone.as_secs_f64().mul_add(self.rate, left.0).min(self.most);
        let enough = filled >= 1.0;
        *left = (if enough { filled - 1.0 } else { filled }, now);
        if enough { Ok(()) } else { Err(Later) }
    }
}

/// Come back later.
#[derive(Debug)]
pub struct Later;

impl IntoResponse for Later {
    fn into_response(self) -> Response {
        let detail = "Too many agents ask at once; this one is asked to come back later.";
        let refusal = Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "Busy", detail);
        let mut response = refusal.into_response();
        let seconds = rand::rng().random_range(1..=COME_BACK);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p20_a_bucket_gives_what_is_in_it_and_fills_with_time() {
        let bucket = Bucket::new((10.0, 2.0));
        let start = Instant::now();
        assert!(bucket.take(start).is_ok() && bucket.take(start).is_ok());
        assert!(bucket.take(start).is_err());
        assert!(bucket.take(start + Duration::from_millis(50)).is_err());
        assert!(bucket.take(start + Duration::from_millis(150)).is_ok());
        let later = start + Duration::from_secs(60);
        assert!(bucket.take(later).is_ok() && bucket.take(later).is_ok() && bucket.take(later).is_err());
    }
}
