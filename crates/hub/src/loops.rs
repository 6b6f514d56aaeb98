//! The reconcile loops: each is woken by name, has no input and reads the intent from the database (docs/decisions/0001).

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

pub(crate) use retention::RetentionStatistics;
pub use retention::TableStatistics;

/// Signals that wake the loops. Created with the hub, before any loop runs, so no signal is lost.
#[derive(Debug, Default)]
pub(crate) struct LoopSignals {
    /// Workloads were marked dirty.
    pub placer: Notify,
    /// Rollouts were marked dirty.
    pub rollouts: Notify,
}

/// The running loops; dropping it does not stop them, [`Loops::stop`] does.
pub struct Loops {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl Hub {
    /// Starts placer, rollouts, staleness, retention and, on PostgreSQL, the tail of other servers' writes.
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
    /// Waits until each loop has finished its current pass, then stops it.
    pub async fn stop(self) {
        self.cancel.cancel();
        self.tasks.wait().await;
    }

    /// Whether all loops still run (`/readyz`).
    pub fn is_running(&self) -> bool {
        self.tasks.len() == LOOP_COUNT && !self.cancel.is_cancelled()
    }
}

/// How many loops there are.
const LOOP_COUNT: usize = 5;

/// `base` plus or minus a fifth, so that several servers do not run in lockstep.
fn jitter(base: Duration) -> Duration {
    base.mul_f64(rand::rng().random_range(0.8..1.2))
}

/// Sleeps unless cancelled first; returns false if cancelled.
async fn sleep_unless_cancelled(duration: Duration, cancel: &CancellationToken) -> bool {
    tokio::select! {
        () = tokio::time::sleep(duration) => true,
        () = cancel.cancelled() => false,
    }
}
