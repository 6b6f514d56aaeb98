//! Following a workload until it is where it should be. The server is asked again whenever it says that something
//! changed, and every few seconds in any case; it may be restarted meanwhile.

use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};
use wire::{Client, Status};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::Out;

mod ended;
mod goal;
mod progress;
mod signals;
mod timeout;

pub use ended::Ended;
pub use goal::{Goal, Verdict};
pub use progress::{Progress, Stream};
pub use signals::Signals;
pub use timeout::Timeout;

/// A failure counts only if it still stands after this time: a cluster that is just being changed may stumble.
const FAILURE_HOLDS: Duration = Duration::from_secs(3);
/// Being stuck is worth a word only after this time: the hub takes a moment to place what was published.
const STUCK_FOR: Duration = Duration::from_secs(4);
/// Signals come in bursts; one look answers them all.
const BURST: Duration = Duration::from_millis(150);

/// Whether the trouble passes by itself: a restart, a broken network, a proxy that finds no server behind it.
pub fn is_passing(error: &wire::Error) -> bool {
    match error {
        wire::Error::Unreachable { .. } => true,
        wire::Error::NotUnderstood { status, .. } => matches!(status, 0 | 408 | 429 | 502..=504),
        other => {
            matches!(other.code(), "Busy" | "Timeout") || other.problem().is_some_and(|p| p.status == 503)
        }
    }
}

/// One wait.
pub struct Follow<'a> {
    /// The server.
    pub client: &'a Client,
    /// Name of the workload.
    pub workload: &'a str,
    /// How long.
    pub timeout: Timeout,
    /// Where it should get.
    pub goal: Goal,
}

impl Follow<'_> {
    /// Waits, and shows people how far it is.
    pub async fn run(mut self, out: &Out) -> Result<Ended, Failure> {
        let began = Instant::now();
        let mut progress = Progress::new(Stream::Notes, out);
        let mut last = Status::default();
        let deadline = self.timeout.0.map(|limit| began + limit);
        let ended = tokio::select! {
            ended = self.looks(&mut progress, &mut last) => Some(ended),
            () = until(deadline) => Some(Ok(Exit::TimedOut)),
            _ = tokio::signal::ctrl_c() => None,
        };
        match ended {
            Some(ended) => Ok(Ended { exit: ended?, last, took: began.elapsed() }),
            None => Ok(Ended { exit: Exit::Interrupted, last, took: began.elapsed() }),
        }
    }

    async fn looks(&mut self, progress: &mut Progress, last: &mut Status) -> Result<Exit, Failure> {
        let mut signals = Signals::start(self.client);
        let (mut failing_since, mut stuck_since) = (None, None);
        loop {
            match self.look().await {
                Ok(Some(status)) => {
                    *last = status;
                    progress.unsay();
                }
                Ok(None) => {
                    *last = Status::default();
                    return self.goal.forgotten(self.workload);
                }
                Err(error) if is_passing(&error) => progress.say(&format!("{error}; still waiting."))?,
                Err(error) => return Err(error.into()),
            }
            progress.show(&self.goal.concerns(last))?;
            match self.goal.judge(last) {
                Verdict::Done => return Ok(Exit::Done),
                Verdict::Failing => {
                    let left = FAILURE_HOLDS.saturating_sub(since(&mut failing_since));
                    if left.is_zero() {
                        return Ok(Exit::Partial);
                    }
                    signals.next_within(left).await;
                    continue;
                }
                Verdict::Moving => stuck_since = None,
                Verdict::Stuck(why) => {
                    let left = STUCK_FOR.saturating_sub(since(&mut stuck_since));
                    if left.is_zero() {
                        progress.say(&why)?;
                        self.goal.refresh(self.client, self.workload).await?;
                    } else {
                        failing_since = None;
                        signals.next_within(left).await;
                        continue;
                    }
                }
            }
            failing_since = None;
            signals.next().await;
            sleep(BURST).await;
        }
    }

    /// The status; `None` when there is no such workload any more.
    async fn look(&self) -> Result<Option<Status>, wire::Error> {
        match self.client.workload_status(self.workload, None).await {
            Ok(status) => Ok(Some(status)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// How long it has been so; from now on if it was not.
fn since(began: &mut Option<Instant>) -> Duration {
    began.get_or_insert_with(Instant::now).elapsed()
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
