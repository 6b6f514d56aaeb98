//! Failures and their back-off: 5 s, doubled up to 5 min, ±20 %, without an attempt limit (S2-3).

use std::time::Duration;

use domain::Timestamp;
use domain::release::StageState;
use domain::release::stage::StageReason;
use rand::Rng;
use tokio::time::Instant;

use crate::Options;
use crate::error::{Error, RetryClass};

/// The latest failure of an operation and its number of attempts.
#[derive(Debug, Clone)]
pub(crate) struct RetryState {
    pub error: Error,
    pub attempts: u32,
    /// When it may be retried.
    pub due: Instant,
    /// The same as wall-clock time, for display.
    pub next_retry: Timestamp,
}

impl RetryState {
    /// The failure following `before`.
    pub(crate) fn after(before: Option<&Self>, error: Error, options: &Options) -> Self {
        let attempts = before.map_or(0, |before| before.attempts).saturating_add(1);
        let delay = match error.retry_class() {
            RetryClass::Slow => options.retry_max,
            RetryClass::Soon => {
                options.retry_first.saturating_mul(1 << (attempts - 1).min(16)).min(options.retry_max)
            }
        };
        let delay = delay.mul_f64(rand::rng().random_range(0.8..1.2));
        let delay = error.retry_after().map_or(delay, |requested| requested.max(delay));
        let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        Self { error, attempts, due: Instant::now() + delay, next_retry: options.now().plus_millis(millis) }
    }

    /// The state after `error`: one with the same cause that is not due is retained, because nothing was tried again.
    pub(crate) fn advance(before: Option<Self>, error: Error, options: &Options) -> Self {
        match before {
            Some(before) if before.error == error && !before.is_due() => before,
            before => Self::after(before.as_ref(), error, options),
        }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.due <= Instant::now()
    }

    /// The reason of a stage; the message starts with `subject`.
    pub(crate) fn stage_reason(&self, subject: &str) -> StageReason {
        StageReason {
            reason: self.error.reason(),
            message: failure_message(subject, &self.error),
            attempts: self.attempts,
            // It is retried nevertheless, rarely; a time would promise that the next attempt can succeed.
            next_retry: (!self.error.needs_change()).then_some(self.next_retry),
        }
    }

    /// The stage state: waiting for transient errors, failed otherwise.
    pub(crate) fn stage_state(&self, subject: &str) -> StageState {
        let reason = self.stage_reason(subject);
        match self.error {
            Error::ApiMissing(_)
            | Error::NamespaceMissing(_)
            | Error::NamespaceTerminating(_)
            | Error::DefinitionNotEstablished(_)
            | Error::ObjectTerminating(_)
            | Error::JobRunning
            | Error::ObjectAwaited(_)
            | Error::ApiServerUnreachable(_)
            | Error::Timeout(_)
            | Error::Throttled { .. } => StageState::Waiting(reason),
            _ => StageState::Failed(reason),
        }
    }
}

/// Message of a failure: subject, error, hint.
pub(crate) fn failure_message(subject: &str, error: &Error) -> String {
    let text = error.to_string();
    let end = if text.ends_with('.') { "" } else { "." };
    if subject.is_empty() {
        format!("{text}{end} {}", error.hint())
    } else {
        format!("{subject}: {text}{end} {}", error.hint())
    }
}

/// Back-off before the next self-heal of an object that was healed `times` times within ten minutes.
pub(crate) fn heal_backoff(times: usize, options: &Options) -> Duration {
    match times {
        0 => Duration::ZERO,
        // From three self-heals on, the object is contested and is healed rarely (P13).
        1 | 2 => options.heal_first.saturating_mul(if times == 1 { 1 } else { 3 }).min(options.retry_max),
        _ => options.retry_max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options::new(|| Timestamp::from_millis(0))
    }

    #[test]
    fn s2_3_back_off_doubles_up_to_five_minutes_without_an_attempt_limit() {
        let mut failure = None;
        for seconds in [5, 10, 20, 40, 80, 160, 300, 300] {
            let error = Error::ServerFailed { code: 500, message: String::new(), retry_after: None };
            let next = RetryState::after(failure.as_ref(), error, &options());
            let millis = next.next_retry.millis();
            assert!((seconds * 800..=seconds * 1_200).contains(&millis), "{seconds} s: {millis} ms");
            failure = Some(next);
        }
        assert_eq!(failure.unwrap().attempts, 8);
    }

    #[test]
    fn p14_a_rejection_is_retried_slowly_and_retry_after_is_respected() {
        let rejected = RetryState::after(None, Error::Invalid("spec".into()), &options());
        assert!(rejected.next_retry.millis() >= 240_000);
        let busy = Error::Throttled { retry_after: Some(Duration::from_secs(60)) };
        assert_eq!(RetryState::after(None, busy, &options()).next_retry.millis(), 60_000);
    }

    #[test]
    fn b16_a_failure_that_only_a_change_resolves_shows_no_next_retry() {
        let immutable = Error::ImmutableField {
            fields: Vec::new(),
            is_only_cause: true,
            message: "field is immutable".into(),
        };
        let denied = Error::PermissionDenied("services is forbidden".into());
        for error in [immutable, Error::Invalid("spec.replicas: -1".into()), denied] {
            let reason = RetryState::after(None, error, &options()).stage_reason("Deployment web");
            assert_eq!((reason.attempts, reason.next_retry), (1, None), "{}", reason.message);
            assert!(!reason.message.contains("automatically"), "{}", reason.message);
        }
        let rejected = Error::AdmissionRejected("no".into());
        let reason = RetryState::after(None, rejected, &options()).stage_reason("Deployment web");
        assert!(reason.next_retry.is_some(), "the policy on the cluster may be changed");
    }

    #[test]
    fn p13_self_heals_of_the_same_object_become_rare() {
        let delays: Vec<u64> = (0..5).map(|n| heal_backoff(n, &options()).as_secs()).collect();
        assert_eq!(delays, [0, 2, 6, 300, 300]);
    }
}
