//! What whoever starts an engine decides: the clock, the limits, and how patient it is.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use domain::Timestamp;

/// Settings of one engine. Durations between tries are fields, so tests need not wait for them.
#[derive(Clone)]
pub struct Options {
    /// The hub the agent serves, by its address: records carry its hash, so that two hubs on one cluster keep apart (S3-7).
    pub hub: String,
    /// The agent, as records name it (S3-8); for people.
    pub agent: String,
    /// The agent's clock; used for what people read, never for waiting.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Whether ages of objects are measured by the API server's own clock, as its answers tell it (P10). Only a test that
    /// moves the agent's clock to let objects age does without.
    pub server_time: bool,
    /// Most requests under way at once; the API server's own fairness is the limit beyond that.
    pub concurrency: usize,
    /// How long one request may take.
    pub request_deadline: Duration,
    /// First delay before a failed step is tried again; doubles up to [`Options::retry_max`], ±20 %.
    pub retry_first: Duration,
    /// Longest delay between tries; also the delay after a refusal that only a person can clear.
    pub retry_max: Duration,
    /// First pause between two repairs of the same object; triples up to [`Options::retry_max`] (P13).
    pub heal_first: Duration,
}

impl Options {
    /// The defaults of `product.md` F.6, with this clock.
    pub fn new(clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self {
            hub: String::new(),
            agent: "flotilla-agent".to_owned(),
            clock: Arc::new(clock),
            server_time: true,
            concurrency: 16,
            request_deadline: Duration::from_secs(30),
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
