//! The cluster's clock: wall time at start, advanced by tokio's clock, so that pausing tokio's time in a test also
//! pauses the cluster.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A clock that follows tokio's time.
#[derive(Debug)]
pub(crate) struct SimClock {
    base: Timestamp,
    since: Instant,
}

impl SimClock {
    pub(crate) fn new() -> SimClock {
        SimClock { base: Timestamp::now(), since: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::ZERO);
        self.base.checked_add(elapsed).unwrap_or(self.base)
    }

    /// The current time with whole seconds, as objects store it.
    pub(crate) fn now_rfc3339(&self) -> String {
        format_timestamp(self.now())
    }
}

/// Formats a time with whole seconds.
pub(crate) fn format_timestamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
