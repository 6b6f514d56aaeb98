//! Whether the API server is heard from.
//!
//! One failed connection says nothing (an idle connection may have been closed); two in a row are silence. While
//! the server is silent nothing is reported about it, and never are objects called missing (DESIGN 3.8).

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use domain::Timestamp;
use tokio::sync::watch;

use crate::error::Error;

/// Failures in a row that make silence.
const SILENT_AFTER: u32 = 2;

/// Since when and why the server is not heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Silence {
    pub since: Timestamp,
    pub cause: String,
}

/// The latest word on whether the server answers.
pub(crate) struct Reach {
    clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    failures: AtomicU32,
    silence: watch::Sender<Option<Silence>>,
}

impl Reach {
    pub(crate) fn new(clock: Arc<dyn Fn() -> Timestamp + Send + Sync>) -> Self {
        Self { clock, failures: AtomicU32::new(0), silence: watch::Sender::new(None) }
    }

    /// Takes note of how a request ended; any answer, even a refusal, means that the server is there.
    pub(crate) fn note(&self, error: Option<&Error>) {
        match error {
            Some(error) if error.is_silence() => {
                if self.failures.fetch_add(1, Ordering::Relaxed) + 1 >= SILENT_AFTER {
                    self.fall_silent(error);
                }
            }
            _ => {
                self.failures.store(0, Ordering::Relaxed);
                self.silence.send_if_modified(|silence| silence.take().is_some());
            }
        }
    }

    fn fall_silent(&self, error: &Error) {
        self.silence.send_if_modified(|silence| {
            let news = silence.is_none();
            if news {
                *silence = Some(Silence { since: (self.clock)(), cause: error.to_string() });
            }
            news
        });
    }

    pub(crate) fn silence(&self) -> Option<Silence> {
        self.silence.borrow().clone()
    }

    /// Told whenever silence begins or ends.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Option<Silence>> {
        self.silence.subscribe()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p11_two_failures_in_a_row_are_silence_and_any_answer_ends_it() {
        let reach = Reach::new(Arc::new(|| Timestamp::from_millis(7)));
        let lost = Error::ApiServerUnreachable("reset".into());
        reach.note(Some(&lost));
        assert_eq!(reach.silence(), None);
        reach.note(Some(&lost));
        assert_eq!(reach.silence().unwrap().since, Timestamp::from_millis(7));
        reach.note(Some(&Error::Invalid("no".into())));
        assert_eq!(reach.silence(), None);
    }
}
