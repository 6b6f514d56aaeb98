//! Reachability of the API server.
//!
//! One failed connection is not an outage (an idle connection may have been closed); two in a row are. During an outage
//! no state is reported, and no object is reported missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::Timestamp;
use tokio::sync::watch;

use crate::error::Error;

/// Consecutive failures that start an outage.
const UNREACHABLE_AFTER: u32 = 2;

/// Start and cause of an outage, as the agent detected it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetectedOutage {
    /// When it was detected, by the agent's clock.
    pub since: Timestamp,
    /// The error of the request that failed.
    pub cause: String,
}

/// Current reachability, derived from the results of all requests.
pub(crate) struct Reachability {
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Failures without a response since.
    failures: AtomicU32,
    /// Failures of the last outage.
    failures_of_outage: AtomicU32,
    outage: watch::Sender<Option<DetectedOutage>>,
}

impl Reachability {
    pub(crate) fn new(clock: Arc<dyn Fn() -> Timestamp + Send + Sync>) -> Self {
        Self {
            clock,
            failures: AtomicU32::new(0),
            failures_of_outage: AtomicU32::new(0),
            outage: watch::Sender::new(None),
        }
    }

    /// Records the result of a request; any response, even an error status, means that the server is reachable.
    pub(crate) fn record_result(&self, error: Option<&Error>) {
        match error {
            Some(error) if error.is_unreachable() => {
                if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= UNREACHABLE_AFTER {
                    self.begin_outage(error);
                }
            }
            _ => {
                let failures = self.failures.swap(0, Ordering::Relaxed);
                self.outage.send_if_modified(|outage| {
                    let has_ended = outage.take().is_some();
                    if has_ended {
                        self.failures_of_outage.store(failures, Ordering::Relaxed);
                    }
                    has_ended
                });
            }
        }
    }

    fn begin_outage(&self, error: &Error) {
        self.outage.send_if_modified(|outage| {
            let is_new = outage.is_none();
            if is_new {
                *outage = Some(DetectedOutage { since: (self.clock)(), cause: error.to_string() });
            }
            is_new
        });
    }

    pub(crate) fn outage(&self) -> Option<DetectedOutage> {
        self.outage.borrow().clone()
    }

    /// Number of requests that failed during the last outage.
    pub(crate) fn failures_of_outage(&self) -> u32 {
        self.failures_of_outage.load(Ordering::Relaxed)
    }

    /// Changes whenever an outage begins or ends.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<DetectedOutage>> {
        self.outage.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p11_two_consecutive_failures_are_an_outage_and_any_response_ends_it() {
        let reach = Reachability::new(Arc::new(|| Timestamp::from_millis(7)));
        let lost = Error::ApiServerUnreachable("reset".into());
        reach.record_result(Some(&lost));
        assert_eq!(reach.outage(), None);
        reach.record_result(Some(&lost));
        assert_eq!(reach.outage().unwrap().since, Timestamp::from_millis(7));
        reach.record_result(Some(&Error::Invalid("no".into())));
        assert_eq!((reach.outage(), reach.failures_of_outage()), (None, 2));
    }
}
