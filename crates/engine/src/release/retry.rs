//! How often something failed, and when it is tried again: 5 s, doubled up to 5 min, ±20 %, for ever (S2-3).

use std::time::Duration;

use domain::Timestamp;
use domain::release::StageState;
use domain::release::stage::Trouble;
use rand::Rng;
use tokio::time::Instant;

use crate::Options;
use crate::error::{Error, Patience};

/// The latest failure of one thing, and how many there were before it.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    pub error: Error,
    pub attempts: u32,
    /// When it may be tried again.
    pub due: Instant,
    /// The same, for people.
    pub next_retry: Timestamp,
}

impl Failure {
    /// One more failure after `before`.
    pub(crate) fn after(before: Option<&Self>, error: Error, options: &Options) -> Self {
        let attempts = before.map_or(0, |before| before.attempts).saturating_add(1);
        let delay = match error.patience() {
            Patience::Slow => options.retry_max,
            Patience::Soon => {
                options.retry_first.saturating_mul(1 << (attempts - 1).min(16)).min(options.retry_max)
            }
        };
        let delay = delay.mul_f64(rand::rng().random_range(0.8..1.2));
        let delay = error.retry_after().map_or(delay, |asked| asked.max(delay));
        let millis = i64::try_from(delay.as_millis()).unwrap_or(i64::MAX);
        Self { error, attempts, due: Instant::now() + delay, next_retry: options.now().plus_millis(millis) }
    }

    pub(crate) fn is_due(&self) -> bool {
        self.due <= Instant::now()
    }

    /// The trouble as a stage shows it, about `subject`.
    pub(crate) fn trouble(&self, subject: &str) -> Trouble {
        Trouble {
            reason: self.error.label().to_owned(),
            message: sentence(subject, &self.error),
            attempts: self.attempts,
            next_retry: Some(self.next_retry),
        }
    }

    /// The stage: waiting for what will come by itself, failed otherwise.
    pub(crate) fn stage(&self, subject: &str) -> StageState {
        let trouble = self.trouble(subject);
        match self.error {
            Error::ApiMissing(_)
            | Error::NamespaceMissing(_)
            | Error::NamespaceTerminating(_)
            | Error::DefinitionNotEstablished(_)
            | Error::ObjectTerminating(_)
            | Error::ObjectAwaited(_)
            | Error::ApiServerUnreachable(_)
            | Error::Timeout(_)
            | Error::Throttled { .. } => StageState::Waiting(trouble),
            _ => StageState::Failed(trouble),
        }
    }
}

/// Which object, why, what to do.
pub(crate) fn sentence(subject: &str, error: &Error) -> String {
    let text = error.to_string();
    let end = if text.ends_with('.') { "" } else { "." };
    if subject.is_empty() {
        format!("{text}{end} {}", error.hint())
    } else {
        format!("{subject}: {text}{end} {}", error.hint())
    }
}

/// Pause before the next repair of an object that was repaired `times` times within ten minutes.
pub(crate) fn heal_pause(times: usize, options: &Options) -> Duration {
    match times {
        0 => Duration::ZERO,
        // After three fights the object is contested; then it is put back rarely (P13).
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
    fn s2_3_pauses_double_up_to_five_minutes_and_never_end() {
        let mut failure = None;
        for seconds in [5, 10, 20, 40, 80, 160, 300, 300] {
            let error = Error::ServerFailed { code: 500, message: String::new(), retry_after: None };
            let next = Failure::after(failure.as_ref(), error, &options());
            let millis = next.next_retry.millis();
            assert!((seconds * 800..=seconds * 1_200).contains(&millis), "{seconds} s: {millis} ms");
            failure = Some(next);
        }
        assert_eq!(failure.unwrap().attempts, 8);
    }

    #[test]
    fn p14_a_refusal_is_tried_again_slowly_and_a_wish_of_the_server_is_honoured() {
        let refused = Failure::after(None, Error::Invalid("spec".into()), &options());
        assert!(refused.next_retry.millis() >= 240_000);
        let busy = Error::Throttled { retry_after: Some(Duration::from_secs(60)) };
        assert_eq!(Failure::after(None, busy, &options()).next_retry.millis(), 60_000);
    }

    #[test]
    fn p13_repairs_of_the_same_object_become_rare() {
        let pauses: Vec<u64> = (0..5).map(|n| heal_pause(n, &options()).as_secs()).collect();
        assert_eq!(pauses, [0, 2, 6, 300, 300]);
    }
}
