//! Delays between the attempts of a failed call.

use std::time::Duration;

use rand::Rng;

use crate::link::{Link, LinkError};
use crate::options::AgentOptions;

/// Delays between attempts: doubling, bounded, ±20 %.
pub(crate) struct Backoff {
    next: Duration,
    initial: Duration,
    max: Duration,
}

impl Backoff {
    pub fn new(options: &AgentOptions) -> Self {
        Self {
            next: options.retry_initial_delay,
            initial: options.retry_initial_delay,
            max: options.retry_max_delay,
        }
    }

    /// The next delay.
    pub fn next_delay(&mut self) -> Duration {
        let delay = self.next.mul_f64(rand::rng().random_range(0.8..1.2));
        self.next = (self.next * 2).min(self.max);
        delay
    }

    /// Resets to the first delay, after a success.
    pub fn reset(&mut self) {
        self.next = self.initial;
    }

    /// Logs the error and sleeps: at least for the delay that the hub requested; without such a request, no longer than until
    /// the hub is reachable again.
    pub async fn wait_or_reachable<L: Link>(&mut self, link: &L, what: &str, why: &LinkError) {
        let retry_after = why.retry_after();
        let delay = self.next_delay().max(retry_after.unwrap_or_default());
        tracing::warn!(error = %why, retry_in = ?delay, "{what}");
        tokio::select! {
            () = tokio::time::sleep(delay) => {}
            () = link.wait_until_reachable(), if retry_after.is_none() => self.reset(),
        }
    }

    /// Logs the error and sleeps.
    pub async fn wait(&mut self, what: &str, why: &(dyn std::error::Error + Sync)) {
        let delay = self.next_delay();
        tracing::warn!(error = %why, retry_in = ?delay, "{what}");
        tokio::time::sleep(delay).await;
    }
}
