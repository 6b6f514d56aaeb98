//! The outcome of a wait, and its message if the condition was not reached.

use std::time::Duration;

use domain::release::ReleaseState;
use domain::time::format_duration;
use wire::WorkloadStatus;

use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Printer;

/// The outcome of a wait, with the last status received.
pub struct WaitOutcome {
    /// The exit status.
    pub exit: ExitStatus,
    /// The last status; empty if the workload was deleted.
    pub last_status: WorkloadStatus,
    /// The duration of the wait.
    pub elapsed: Duration,
}

impl WaitOutcome {
    /// The duration of the wait as text.
    pub fn elapsed_text(&self) -> String {
        format_duration(i64::try_from(self.elapsed.as_millis()).unwrap_or(i64::MAX))
    }

    fn failure_hint(&self) -> &'static str {
        if self.last_status.counts.count(ReleaseState::Blocked) > 0 {
            return "Blocked clusters need attention; failed ones are retried automatically.";
        }
        "Failed clusters are retried automatically."
    }

    /// The exit status, or a failure with counts and hints; `what` names the operation, such as "publish".
    pub fn to_result(&self, workload: &str, what: &str, out: &Printer) -> Result<ExitStatus, Failure> {
        let counts: Vec<String> = self
            .last_status
            .counts
            .iter_by_severity()
            .map(|(state, count)| format!("{count} {}", state.as_str()))
            .collect();
        let counts = if counts.is_empty() { "no status yet".to_owned() } else { counts.join(", ") };
        let hint = format!(
            "\"flotilla status {workload}\" shows the stages, \"flotilla events --workload {workload}\" the events."
        );
        match self.exit {
            ExitStatus::Partial => {
                let message = format!(
                    "{} of {} clusters failed ({counts}).",
                    self.last_status.counts.failing(),
                    self.last_status.counts.targeted()
                );
                Err(Failure::with_exit(
                    ExitStatus::Partial,
                    message,
                    format!("{} {hint}", self.failure_hint()),
                ))
            }
            ExitStatus::TimedOut => Err(Failure::with_exit(
                ExitStatus::TimedOut,
                format!("The wait timed out after {}: {counts}.", self.elapsed_text()),
                format!("The {what} continues. {hint}"),
            )),
            ExitStatus::Interrupted => {
                out.print_note(&format!("Stopped waiting; the {what} continues."));
                Ok(ExitStatus::Interrupted)
            }
            other => Ok(other),
        }
    }
}
