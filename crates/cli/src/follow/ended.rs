//! The last words of a wait that did not get where it should.

use std::time::Duration;

use domain::release::State;
use domain::time::short_duration;
use wire::Status;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

/// How a wait ended, with the last status seen.
pub struct Ended {
    /// How.
    pub exit: Exit,
    /// The last status; empty when the workload is forgotten.
    pub last: Status,
    /// How long it took.
    pub took: Duration,
}

impl Ended {
    /// How long it took, for people.
    pub fn took_words(&self) -> String {
        short_duration(i64::try_from(self.took.as_millis()).unwrap_or(i64::MAX))
    }

    fn what_comes_next(&self) -> &'static str {
        if self.last.counts.of(State::Blocked) > 0 {
            return "What is Blocked waits for a person; what failed is tried again by itself.";
        }
        "It is tried again by itself."
    }

    /// What a person has to know when it is not done; `what` is what was waited for, such as "publish".
    pub fn failure(&self, workload: &str, what: &str, out: &Out) -> Result<Exit, Failure> {
        let counts: Vec<String> = self
            .last
            .counts
            .worst_first()
            .map(|(state, count)| format!("{count} {}", state.word()))
            .collect();
        let counts = if counts.is_empty() { "nothing is known yet".to_owned() } else { counts.join(", ") };
        let look = format!(
            "\"flotilla status {workload}\" shows the stages, \"flotilla events --workload {workload}\" what happened."
        );
        match self.exit {
            Exit::Partial => {
                let message = format!(
                    "{} of {} clusters failed ({counts}).",
                    self.last.counts.failing(),
                    self.last.counts.targeted()
                );
                Err(Failure::ending(Exit::Partial, message, format!("{} {look}", self.what_comes_next())))
            }
            Exit::TimedOut => Err(Failure::ending(
                Exit::TimedOut,
                format!("The wait was over after {}: {counts}.", self.took_words()),
                format!("The {what} goes on. {look}"),
            )),
            Exit::Interrupted => {
                out.note(&format!("Stopped waiting; the {what} goes on."));
                Ok(Exit::Interrupted)
            }
            other => Ok(other),
        }
    }
}
