//! The loops: each is woken by name, takes no input, and reads all the intent there is (docs/decisions/0001).

use std::time::Duration;

use rand::Rng;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Hub;

mod placer;
mod retention;
mod rollouts;
mod staleness;
mod tail;

/// What wakes the loops. Made with the hub, before any loop runs: waking one that does not exist can't be written.
#[derive(Debug, Default)]
pub(crate) struct Activators {
    /// Workloads were marked dirty.
    pub placer: Notify,
    /// Rollouts may go on.
    pub rollouts: Notify,
}

/// The running loops; dropping it does not stop them, [`Loops::stop`] does.
pub struct Loops {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl Hub {
    /// Starts placer, rollouts, staleness, retention and, on PostgreSQL, the tail of what other servers write.
    pub fn spawn_loops(&self) -> Loops {
        let loops = Loops { cancel: CancellationToken::new(), tasks: TaskTracker::new() };
        loops.tasks.spawn(placer::run(self.clone(), loops.cancel.clone()));
        loops.tasks.spawn(rollouts::run(self.clone(), loops.cancel.clone()));
        loops.tasks.spawn(staleness::run(self.clone(), loops.cancel.clone()));
        loops.tasks.spawn(retention::run(self.clone(), loops.cancel.clone()));
        loops.tasks.spawn(tail::run(self.clone(), loops.cancel.clone()));
        loops.tasks.close();
        loops
    }
}

impl Loops {
    /// Lets each loop finish what it is doing, then ends it.
    pub async fn stop(self) {
        self.cancel.cancel();
        self.tasks.wait().await;
    }

    /// Whether all loops still run (`/readyz`).
    pub fn alive(&self) -> bool {
        self.tasks.len() == LOOPS && !self.cancel.is_cancelled()
    }
}

/// How many loops there are.
const LOOPS: usize = 5;

/// `base` plus or minus a fifth, so that servers do not march in step.
fn jittered(base: Duration) -> Duration {
    base.mul_f64(rand::rng().random_range(0.8..1.2))
}

/// Sleeps, unless cancelled first; says whether to go on.
async fn pause(duration: Duration, cancel: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(duration) => true,
        () = cancel.cancelled() => false,
    }
}
