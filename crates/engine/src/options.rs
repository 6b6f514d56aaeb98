//! Engine options: clock, limits and retry delays.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;

/// Options of one engine. Retry delays are fields so that tests can shorten them.
#[derive(Clone)]
pub struct Options {
    /// Address of the agent's hub. Records carry its hash, which separates two hubs on one cluster (S3-7).
    pub hub: String,
    /// Name of the agent in records (S3-8); informational.
    pub agent: String,
    /// The agent's clock, for displayed times only; waits use the monotonic clock.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Whether object ages are measured with the API server's clock, taken from the `Date` header (P10). Only tests
    /// that advance the agent's clock disable it.
    pub server_time: bool,
    /// Max concurrent requests; API priority and fairness limits them further.
    pub concurrency: usize,
    /// Deadline of one request.
    pub request_deadline: Duration,
    /// Deadline of a probe of an API server that may be down; at most that of a request.
    pub probe_deadline: Duration,
    /// First delay before a failed step is retried; doubles up to [`Options::retry_max_delay`], ±20 %.
    pub retry_first: Duration,
    /// Longest delay between retries; also the delay after an error that needs a change by an operator.
    pub retry_max: Duration,
    /// Back-off after the first self-heal of an object; triples once, then [`Options::retry_max_delay`] applies (P13).
    pub heal_first: Duration,
}

impl Options {
    /// Default options with this clock.
    pub fn new(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            hub: String::new(),
            agent: "flotilla-agent".to_owned(),
            clock: Arc::new(clock),
            server_time: true,
            concurrency: 16,
            request_deadline: Duration::from_secs(30),
            probe_deadline: Duration::from_secs(5),
            retry_first: Duration::from_secs(5),
            retry_max: Duration::from_secs(300),
            heal_first: Duration::from_secs(2),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.clock)()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("concurrency", &self.concurrency)
            .field("request_deadline", &self.request_deadline)
            .finish_non_exhaustive()
    }
}
