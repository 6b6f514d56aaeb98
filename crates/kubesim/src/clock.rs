//! The cluster's clock: wall time at the start, then tokio's, so that a test which pauses tokio's time pauses
//! the cluster.

use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// Reads the time.
#[derive(Debug)]
pub(crate) struct Clock {
    base: Timestamp,
    since: Instant,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { base: Timestamp::now(), since: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        let elapsed = SignedDuration::try_from(self.since.elapsed()).unwrap_or(SignedDuration::ZERO);
        self.base.checked_add(elapsed).unwrap_or(self.base)
    }

    /// Now, in seconds, as objects carry it.
    pub(crate) fn stamp(&self) -> String {
        stamp(self.now())
    }
}

/// A time with whole seconds.
pub(crate) fn stamp(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
