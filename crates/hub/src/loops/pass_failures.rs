//! Failed passes of a loop: the pause before the next one grows, and a run of failures is logged when it starts, when its
//! cause changes and when it ends, instead of at every pass. All are counted (`flotilla_task_failed_passes`).

use std::time::Duration;

use tokio::time::Instant;

use super::jitter;
use crate::{Error, Hub};

/// Pause after the first failed pass.
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// Longest pause: an outage that ends delays the loops by no more than this.
const MAX_PAUSE: Duration = Duration::from_secs(15);

/// The failures of a loop since its last successful pass.
pub(super) struct PassFailures {
    task: &'static str,
    count: u32,
    cause: String,
    began: Instant,
}

impl PassFailures {
    /// No failures of this loop.
    pub fn new(task: &'static str) -> Self {
        Self { task, count: 0, cause: String::new(), began: Instant::now() }
    }

    /// Records the result of a pass. After a failure it returns the pause before the next pass, in which signals are ignored:
    /// a loop must not be the load that keeps a database from recovering.
    pub fn record<T>(&mut self, hub: &Hub, result: &Result<T, Error>) -> Option<Duration> {
        match result {
            Ok(_) => {
                self.record_success();
                None
            }
            Err(error) => {
                hub.tasks().count_failed_pass(self.task);
                Some(jitter(self.record_failure(error)))
            }
        }
    }

    fn record_success(&mut self) {
        if self.count > 0 {
            let (task, failed_passes, elapsed) = (self.task, self.count, self.began.elapsed());
            tracing::info!(task, failed_passes, ?elapsed, "a loop works again");
        }
        (self.count, self.cause) = (0, String::new());
    }

    /// Returns the pause.
    fn record_failure(&mut self, error: &Error) -> Duration {
        if self.count == 0 {
            self.began = Instant::now();
        }
        let (task, cause) = (self.task, error.to_string());
        if self.cause != cause {
            let error = error as &dyn std::error::Error;
            tracing::warn!(
                task,
                error,
                "a pass of a loop failed; it is repeated, and logged again when the cause changes or it succeeds"
            );
            self.cause = cause;
        }
        self.count = self.count.saturating_add(1);
        MIN_PAUSE.saturating_mul(1 << (self.count - 1).min(10)).min(MAX_PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p21_the_pause_after_failed_passes_grows_up_to_15_seconds_and_is_short_again_after_a_success() {
        let mut failures = PassFailures::new("placer");
        let pauses: Vec<u64> = (0..40).map(|_| failures.record_failure(&outage()).as_secs()).collect();
        assert_eq!(pauses[..6], [1, 2, 4, 8, 15, 15]);
        assert!(pauses[6..].iter().all(|pause| *pause == 15));
        failures.record_success();
        assert_eq!(failures.record_failure(&outage()), MIN_PAUSE);
    }

    fn outage() -> Error {
        Error::Internal("no answer".into())
    }
}
