//! When a call is sent again, and which error it ends with.

use std::time::Duration;

use tokio::time::Instant;

use crate::Error;

/// Maximum number of attempts after connection errors.
const MAX_ATTEMPTS: u32 = 5;
/// Delay before the second attempt; doubles each time.
const INITIAL_DELAY: Duration = Duration::from_millis(200);
/// In an outage of the server's database, attempts begin within this time: a failover takes less, and a command must not seem
/// to hang.
const OUTAGE_WINDOW: Duration = Duration::from_secs(20);

/// The attempts of one call. All have the same `Idempotency-Key`.
pub(super) struct Attempts {
    began: Instant,
    connection_errors: u32,
    delay: Duration,
    count: u32,
    /// The error of an attempt that may have taken effect.
    doubt: Option<Error>,
}

impl Attempts {
    /// Before the first one.
    pub fn start() -> Self {
        Self { began: Instant::now(), connection_errors: 0, delay: INITIAL_DELAY, count: 1, doubt: None }
    }

    /// Whether there is more than one.
    pub const fn are_several(&self) -> bool {
        self.count > 1
    }

    /// The delay before the next attempt after this error, or the error of the call. An outage is no certainty that nothing
    /// was stored if an earlier attempt may have taken effect: then the error of that attempt is returned.
    pub fn next_delay(&mut self, error: Error, retry_after: Option<Duration>) -> Result<Duration, Error> {
        let delay = self.delay.max(retry_after.unwrap_or_default());
        let is_connection_error = matches!(error, Error::Unreachable { .. });
        let is_retried = if is_connection_error {
            self.connection_errors += 1;
            self.connection_errors < MAX_ATTEMPTS
        } else {
            is_temporary(&error) && self.began.elapsed() + delay <= OUTAGE_WINDOW
        };
        let is_doubt = is_connection_error
            || matches!(error.code(), "CommitOutcomeUnknown" | "Timeout" | "RequestInProgress");
        if !is_retried {
            let is_outage = error.code() == "DatabaseUnavailable";
            return Err(if is_outage { self.doubt.take().unwrap_or(error) } else { error });
        }
        if is_doubt {
            self.doubt = Some(error);
        }
        self.count += 1;
        self.delay *= 2;
        Ok(delay)
    }
}

/// Whether the server is expected to answer the same request soon: it answered 503, or still executes an earlier attempt.
fn is_temporary(error: &Error) -> bool {
    error.code() == "RequestInProgress" || error.problem().is_some_and(|problem| problem.status == 503)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Problem;

    fn problem(status: u16, code: &str) -> Error {
        Error::Rejected(Box::new(Problem::new(status, code, "t", "d")))
    }

    #[tokio::test(start_paused = true)]
    async fn p21_an_outage_is_waited_for_no_longer_than_20_seconds() {
        let (mut attempts, began) = (Attempts::start(), Instant::now());
        let ended = loop {
            match attempts.next_delay(problem(503, "DatabaseUnavailable"), Some(Duration::from_secs(2))) {
                Ok(delay) => tokio::time::sleep(delay).await,
                Err(error) => break error,
            }
        };
        assert_eq!(ended.code(), "DatabaseUnavailable");
        assert!(began.elapsed() > Duration::from_secs(8) && began.elapsed() <= OUTAGE_WINDOW);
        assert!(attempts.are_several());
    }

    #[tokio::test(start_paused = true)]
    async fn p21_an_outage_after_an_unknown_outcome_does_not_say_that_nothing_was_stored() {
        let mut attempts = Attempts::start();
        attempts.next_delay(problem(503, "CommitOutcomeUnknown"), None).unwrap();
        tokio::time::advance(OUTAGE_WINDOW).await;
        let ended = attempts.next_delay(problem(503, "DatabaseUnavailable"), None).unwrap_err();
        assert_eq!(ended.code(), "CommitOutcomeUnknown");
    }

    #[tokio::test(start_paused = true)]
    async fn a_rejection_is_final_and_an_earlier_attempt_in_progress_is_not() {
        let mut attempts = Attempts::start();
        assert!(attempts.next_delay(problem(409, "RequestInProgress"), None).is_ok());
        for (status, code) in [(409, "AlreadyExists"), (500, "Internal"), (422, "Invalid")] {
            assert_eq!(attempts.next_delay(problem(status, code), None).unwrap_err().code(), code);
        }
    }
}
