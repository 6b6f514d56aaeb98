//! Waits until a workload reaches a condition. The status is requested on every change notice of the server, and every few
//! seconds in any case; the server may be restarted meanwhile.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use wire::{Client, WorkloadStatus};

use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::Printer;

mod condition;
mod outcome;
mod progress;
mod signals;
mod timeout;

pub use condition::{WaitCondition, WaitState};
pub use outcome::WaitOutcome;
pub use progress::{ProgressDisplay, ProgressStream};
pub use signals::ChangeSignals;
pub use timeout::WaitTimeout;

/// A failure counts only if it lasts this long: a cluster may fail briefly while it changes.
const FAILURE_CONFIRMED_AFTER: Duration = Duration::from_secs(3);
/// A stall is reported only after this time: the placement of a publish takes a moment.
const STALL_REPORTED_AFTER: Duration = Duration::from_secs(4);
/// Notices arrive in bursts; one request serves a burst.
const BURST_PAUSE: Duration = Duration::from_millis(150);

/// Whether the error is transient: a restart, a network failure, a proxy without a server behind it.
pub fn is_transient(error: &wire::Error) -> bool {
    match error {
        wire::Error::Unreachable { .. } => true,
        wire::Error::InvalidResponse { status, .. } => matches!(status, 0 | 408 | 429 | 502..=504),
        other => {
            matches!(other.code(), "DatabaseUnavailable" | "Timeout")
                || other.problem().is_some_and(|p| p.status == 503)
        }
    }
}

/// A wait for one workload.
pub struct WorkloadWait<'a> {
    /// The server.
    pub client: &'a Client,
    /// Name of the workload.
    pub workload: &'a str,
    /// Upper limit of the wait.
    pub timeout: WaitTimeout,
    /// What to wait for.
    pub condition: WaitCondition,
}

impl WorkloadWait<'_> {
    /// Waits, and shows the progress on stderr.
    pub async fn run(mut self, out: &Printer) -> Result<WaitOutcome, Failure> {
        let began = Instant::now();
        let mut progress = ProgressDisplay::new(ProgressStream::Stderr, out);
        let mut last = WorkloadStatus::default();
        let deadline = self.timeout.0.map(|limit| began + limit);
        let ended = tokio::select! {
            ended = self.poll(&mut progress, &mut last) => Some(ended),
            () = wait_until(deadline) => Some(Ok(ExitStatus::TimedOut)),
            _ = tokio::signal::ctrl_c() => None,
        };
        match ended {
            Some(ended) => Ok(WaitOutcome { exit: ended?, last_status: last, elapsed: began.elapsed() }),
            None => {
                Ok(WaitOutcome { exit: ExitStatus::Interrupted, last_status: last, elapsed: began.elapsed() })
            }
        }
    }

    async fn poll(
        &mut self,
        progress: &mut ProgressDisplay,
        last: &mut WorkloadStatus,
    ) -> Result<ExitStatus, Failure> {
        let mut signals = ChangeSignals::start(self.client);
        let (mut failing_since, mut stuck_since) = (None, None);
        loop {
            match self.fetch_status().await {
                Ok(Some(status)) => {
                    *last = status;
                    progress.clear_message();
                }
                Ok(None) => {
                    *last = WorkloadStatus::default();
                    return self.condition.on_deleted(self.workload);
                }
                Err(error) if is_transient(&error) => {
                    progress.show_message(&format!("{error}; still waiting."))?
                }
                Err(error) => return Err(error.into()),
            }
            progress.show_status(&self.condition.relevant_status(last))?;
            match self.condition.evaluate(last) {
                WaitState::Met => return Ok(ExitStatus::Success),
                WaitState::Failing | WaitState::Drifted => {
                    let left = FAILURE_CONFIRMED_AFTER.saturating_sub(elapsed_since(&mut failing_since));
                    if left.is_zero() {
                        return Ok(ExitStatus::Partial);
                    }
                    signals.wait_at_most(left).await;
                    continue;
                }
                WaitState::InProgress => stuck_since = None,
                WaitState::Stalled(why) => {
                    let left = STALL_REPORTED_AFTER.saturating_sub(elapsed_since(&mut stuck_since));
                    if left.is_zero() {
                        progress.show_message(&why)?;
                        self.condition.refresh(self.client, self.workload).await?;
                    } else {
                        failing_since = None;
                        signals.wait_at_most(left).await;
                        continue;
                    }
                }
            }
            failing_since = None;
            signals.wait().await;
            sleep(BURST_PAUSE).await;
        }
    }

    /// The status; `None` if the workload does not exist any more.
    async fn fetch_status(&self) -> Result<Option<WorkloadStatus>, wire::Error> {
        match self.client.get_workload_status(self.workload, None).await {
            Ok(status) => Ok(Some(status)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Time since `began`, which is set to now if it is not set.
fn elapsed_since(began: &mut Option<Instant>) -> Duration {
    began.get_or_insert_with(Instant::now).elapsed()
}

async fn wait_until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
