//! Rate limits: of all agents for session starts, which they send at the same time after an outage of the hub, and for
//! registrations, which cost the hub something even when they are rejected; of each agent for its sessions and reports, so
//! that one of them does not use what the others need (P20).

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::Duration;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use domain::ClusterId;
use parking_lot::Mutex;
use rand::Rng as _;
use tokio::time::Instant;

use super::AgentApiState;
use super::authenticate::AgentConnection;
use crate::problem::ApiError;

/// How many requests are accepted.
#[derive(Clone, Copy)]
pub(crate) struct Rate {
    pub(crate) per_second: f64,
    pub(crate) burst: f64,
}

/// Session starts.
const SESSION_RATE: Rate = Rate { per_second: 100.0, burst: 500.0 };
/// Registration attempts.
const REGISTRATION_RATE: Rate = Rate { per_second: 10.0, burst: 50.0 };
/// Session starts of one agent: it starts one when it starts.
const AGENT_SESSION_RATE: Rate = Rate { per_second: 0.5, burst: 20.0 };
/// Batches of reports of one agent. While it waits, its newest reports replace older ones, so it needs no more.
const AGENT_REPORT_RATE: Rate = Rate { per_second: 2.0, burst: 100.0 };
/// Certificate renewals of one agent: it renews after two thirds of the lifetime, which is days.
const AGENT_RENEWAL_RATE: Rate = Rate { per_second: 0.1, burst: 5.0 };
/// Heartbeats of one agent: it sends one in 20 s. Each is a write, and one that differs from the last changes every release of the cluster.
const AGENT_HEARTBEAT_RATE: Rate = Rate { per_second: 5.0, burst: 100.0 };
/// Schemas of one agent: it sends one when the kinds of its API server have changed. Each is stored, until retention deletes it.
const AGENT_SCHEMA_RATE: Rate = Rate { per_second: 1.0 / 30.0, burst: 20.0 };
/// Registrations of one address with an invalid join token.
const INVALID_TOKEN_RATE: Rate = Rate { per_second: 1.0 / 15.0, burst: 20.0 };
/// Largest `Retry-After` of a request beyond the rate of all agents, in seconds; the value is random, so that retries
/// spread.
const MAX_RETRY_AFTER_SECONDS: u64 = 60;
/// Agents or addresses with a bucket, beyond which full buckets are dropped: a new bucket is full, too.
const MAX_BUCKETS: usize = 1_000;

/// One token bucket per kind of request, for all agents or for each.
pub struct RateLimits {
    sessions: TokenBucket,
    registrations: TokenBucket,
    agent_sessions: KeyedBuckets<ClusterId>,
    agent_reports: KeyedBuckets<ClusterId>,
    agent_renewals: KeyedBuckets<ClusterId>,
    agent_heartbeats: KeyedBuckets<ClusterId>,
    agent_schemas: KeyedBuckets<ClusterId>,
    invalid_tokens: KeyedBuckets<IpAddr>,
}

impl RateLimits {
    /// Starts with full buckets.
    pub fn new() -> Self {
        Self {
            sessions: TokenBucket::new(SESSION_RATE),
            registrations: TokenBucket::new(REGISTRATION_RATE),
            agent_sessions: KeyedBuckets::new(AGENT_SESSION_RATE),
            agent_reports: KeyedBuckets::new(AGENT_REPORT_RATE),
            agent_renewals: KeyedBuckets::new(AGENT_RENEWAL_RATE),
            agent_heartbeats: KeyedBuckets::new(AGENT_HEARTBEAT_RATE),
            agent_schemas: KeyedBuckets::new(AGENT_SCHEMA_RATE),
            invalid_tokens: KeyedBuckets::new(INVALID_TOKEN_RATE),
        }
    }

    /// Takes a token for a session start of this cluster's agent; an error if there is none.
    pub fn check_session(&self, cluster: ClusterId) -> Result<(), RateLimited> {
        self.agent_sessions.try_acquire(cluster, Instant::now()).map_err(RateLimited::agent)?;
        self.sessions.try_acquire(Instant::now()).map_err(|_| RateLimited::AllAgents)
    }

    /// Takes a token for a registration attempt; an error if there is none.
    pub fn check_registration(&self) -> Result<(), RateLimited> {
        self.registrations.try_acquire(Instant::now()).map_err(|_| RateLimited::AllAgents)
    }

    /// Takes a token for a batch of reports of this cluster's agent; an error if there is none.
    pub fn check_report(&self, cluster: ClusterId) -> Result<(), RateLimited> {
        self.agent_reports.try_acquire(cluster, Instant::now()).map_err(RateLimited::agent)
    }

    /// Takes a token for a certificate renewal of this cluster's agent; an error if there is none.
    pub fn check_renewal(&self, cluster: ClusterId) -> Result<(), RateLimited> {
        self.agent_renewals.try_acquire(cluster, Instant::now()).map_err(RateLimited::agent)
    }

    /// Takes a token for a heartbeat of this cluster's agent; an error if there is none.
    pub fn check_heartbeat(&self, cluster: ClusterId) -> Result<(), RateLimited> {
        self.agent_heartbeats.try_acquire(cluster, Instant::now()).map_err(RateLimited::agent)
    }

    /// Takes a token for a schema of this cluster's agent; an error if there is none.
    pub fn check_schema(&self, cluster: ClusterId) -> Result<(), RateLimited> {
        self.agent_schemas.try_acquire(cluster, Instant::now()).map_err(RateLimited::agent)
    }

    /// An error if this address sent too many invalid join tokens.
    pub fn check_invalid_tokens(&self, address: IpAddr) -> Result<(), RateLimited> {
        let waiting = self.invalid_tokens.check(address, Instant::now());
        waiting.map_err(|retry_after| RateLimited::InvalidTokens { retry_after })
    }

    /// Counts an invalid join token of this address.
    pub fn record_invalid_token(&self, address: IpAddr) {
        // The next attempt finds out that there is none left.
        let _ = self.invalid_tokens.try_acquire(address, Instant::now());
    }
}

/// Extractor: permission to send a batch of reports. It comes before the extractor of the body, which is then not read
/// if the rate limit is reached.
pub struct ReportPermit;

impl FromRequestParts<AgentApiState> for ReportPermit {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, agents: &AgentApiState) -> Result<Self, Response> {
        let agent = AgentConnection::from_request_parts(parts, agents).await;
        let AgentConnection(agent) = agent.map_err(IntoResponse::into_response)?;
        let permitted = agents.rate_limits.check_report(agent.cluster);
        permitted.map(|()| Self).map_err(IntoResponse::into_response)
    }
}

/// One token bucket per agent, by its cluster, or per address.
pub(crate) struct KeyedBuckets<K> {
    rate: Rate,
    buckets: Mutex<HashMap<K, TokenBucket>>,
}

impl<K: Hash + Eq> KeyedBuckets<K> {
    pub(crate) fn new(rate: Rate) -> Self {
        Self { rate, buckets: Mutex::default() }
    }

    /// Takes a token; if there is none, returns when there will be one.
    pub(crate) fn try_acquire(&self, key: K, now: Instant) -> Result<(), Duration> {
        let mut buckets = self.buckets.lock();
        if buckets.len() >= MAX_BUCKETS && !buckets.contains_key(&key) {
            buckets.retain(|_, bucket| !bucket.is_full(now));
        }
        buckets.entry(key).or_insert_with(|| TokenBucket::new(self.rate)).try_acquire(now)
    }

    /// Like [`Self::try_acquire`], but takes no token.
    fn check(&self, key: K, now: Instant) -> Result<(), Duration> {
        self.buckets.lock().get(&key).map_or(Ok(()), |bucket| bucket.check(now))
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

    /// Takes a token; if there is none, returns when there will be one.
    fn try_acquire(&self, now: Instant) -> Result<(), Duration> {
        let mut left = self.level.lock();
        let filled = self.filled(*left, now);
        let result = self.wait_for_token(filled);
        *left = (if result.is_ok() { filled - 1.0 } else { filled }, now);
        result
    }

    fn check(&self, now: Instant) -> Result<(), Duration> {
        self.wait_for_token(self.filled(*self.level.lock(), now))
    }

    fn wait_for_token(&self, filled: f64) -> Result<(), Duration> {
        let missing = 1.0 - filled;
        if missing <= 0.0 { Ok(()) } else { Err(Duration::from_secs_f64(missing / self.rate.per_second)) }
    }

    fn is_full(&self, now: Instant) -> bool {
        self.filled(*self.level.lock(), now) >= self.rate.burst
    }

    fn filled(&self, (level, since): (f64, Instant), now: Instant) -> f64 {
        let gone = now.saturating_duration_since(since);
        gone.as_secs_f64().mul_add(self.rate.per_second, level).min(self.rate.burst)
    }
}

/// A rate limit is reached.
#[derive(Debug)]
pub enum RateLimited {
    /// That of all agents: 503 with a random `Retry-After`.
    AllAgents,
    /// That of this agent: 429 with the time until it may send again as `Retry-After`.
    Agent {
        /// That time.
        retry_after: Duration,
    },
    /// That of invalid join tokens of an address: the same.
    InvalidTokens {
        /// That time.
        retry_after: Duration,
    },
}

impl RateLimited {
    fn agent(retry_after: Duration) -> Self {
        Self::Agent { retry_after }
    }
}

impl IntoResponse for RateLimited {
    fn into_response(self) -> Response {
        let (status, code, detail, seconds) = match self {
            Self::AllAgents => (
                StatusCode::SERVICE_UNAVAILABLE,
                "RateLimited",
                "Too many agents connect at the same time. Retry after the time in the Retry-After header.",
                rand::rng().random_range(1..=MAX_RETRY_AFTER_SECONDS),
            ),
            Self::Agent { retry_after } => (
                StatusCode::TOO_MANY_REQUESTS,
                "RateLimited",
                "This agent sends too many requests. Retry after the time in the Retry-After header.",
                retry_after.as_secs() + 1,
            ),
            Self::InvalidTokens { retry_after } => (
                StatusCode::TOO_MANY_REQUESTS,
                "TooManyAttempts",
                "Too many attempts with an invalid join token from this address. Retry after the time in the Retry-After header.",
                retry_after.as_secs() + 1,
            ),
        };
        ApiError::new(status, code, detail).with_retry_after(seconds).into_response()
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

    #[test]
    fn p20_buckets_of_agents_are_independent_and_full_ones_are_dropped() {
        let buckets = KeyedBuckets::new(Rate { per_second: 1.0, burst: 1.0 });
        let (start, cluster) = (Instant::now(), |at: usize| ClusterId::from_parts(1, at as u128));
        assert!(buckets.try_acquire(cluster(0), start).is_ok());
        assert!(buckets.try_acquire(cluster(0), start).is_err());
        for at in 1..MAX_BUCKETS {
            assert!(buckets.try_acquire(cluster(at), start).is_ok());
        }
        let later = start + Duration::from_secs(2);
        assert!(buckets.try_acquire(cluster(0), later).is_ok());
        assert!(buckets.try_acquire(cluster(MAX_BUCKETS), later).is_ok());
        assert_eq!(buckets.buckets.lock().len(), 2, "the others are full again");
        assert!(buckets.try_acquire(cluster(0), later).is_err(), "a bucket that is not full stays");
    }

    #[test]
    fn p20_an_agent_that_sends_one_schema_after_the_other_is_slowed_down_and_others_are_not() {
        let (limits, cluster) = (RateLimits::new(), |at: u128| ClusterId::from_parts(1, at));
        let sent = (0..100).filter(|_| limits.check_schema(cluster(1)).is_ok()).count();
        assert_eq!(sent, 20);
        assert!(limits.check_schema(cluster(2)).is_ok());
    }
}
