//! The reconcile loops: each is woken by name, has no input and reads the intent from the database (docs/decisions/0001).

use std::time::Duration;

use rand::Rng;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::Hub;

mod deliveries;
mod encryption;
mod git;
mod incidents;
mod pass_failures;
mod placer;
mod retention;
mod rollouts;
mod staleness;
mod tail;

use pass_failures::PassFailures;
pub(crate) use retention::RetentionStatistics;
pub use retention::TableStatistics;

/// Signals that wake the loops. Created with the hub, before any loop runs, so no signal is lost.
#[derive(Debug, Default)]
pub(crate) struct LoopSignals {
    /// Workloads were marked dirty.
    pub placer: Notify,
    /// Rollouts were marked dirty.
    pub rollouts: Notify,
    /// Refs of Git repositories became due.
    pub git: Notify,
    /// Releases of workloads changed their states.
    pub incidents: Notify,
    /// Messages about incidents were written.
    pub deliveries: Notify,
}

/// The running loops; dropping it does not stop them, [`Loops::stop`] does.
pub struct Loops {
    cancel: CancellationToken,
    tasks: TaskTracker,
}

impl Hub {
    /// Starts placer, rollouts, staleness, retention, git, incidents, deliveries, encryption and, on PostgreSQL, the tail of other servers' writes. Each is restarted
    /// when it panics.
    pub fn spawn_loops(&self) -> Loops {
        let loops = Loops { cancel: CancellationToken::new(), tasks: TaskTracker::new() };
        self.spawn_loop(&loops, "placer", placer::run);
        self.spawn_loop(&loops, "rollouts", rollouts::run);
        self.spawn_loop(&loops, "staleness", staleness::run);
        self.spawn_loop(&loops, "retention", retention::run);
        self.spawn_loop(&loops, "git", git::run);
        self.spawn_loop(&loops, "incidents", incidents::run);
        self.spawn_loop(&loops, "deliveries", deliveries::run);
        self.spawn_loop(&loops, "encryption", encryption::run);
        self.spawn_loop(&loops, "tail", tail::run);
        loops.tasks.close();
        loops
    }

    fn spawn_loop<F: Future<Output = ()> + Send + 'static>(
        &self,
        loops: &Loops,
        name: &'static str,
        run: impl Fn(Hub, CancellationToken) -> F + Send + Sync + 'static,
    ) {
        self.expect_task(name);
        let (hub, cancel) = (self.clone(), loops.cancel.clone());
        let supervised =
            self.clone().supervise(name, cancel.clone(), move || run(hub.clone(), cancel.clone()));
        loops.tasks.spawn(supervised);
    }

    /// Names of the loops that do not run now (`/readyz`).
    pub fn list_stopped_loops(&self) -> Vec<&'static str> {
        self.list_stopped_tasks(&LOOPS)
    }

    /// Those of these supervised tasks that were started and do not run now.
    pub fn list_stopped_tasks(&self, names: &[&'static str]) -> Vec<&'static str> {
        let statuses = self.task_statuses();
        let is_stopped =
            |name: &&'static str| statuses.get(name).is_some_and(|status| status.running < status.expected);
        names.iter().copied().filter(is_stopped).collect()
    }
}

/// Names of the loops.
pub const LOOPS: [&str; 9] =
    ["placer", "rollouts", "staleness", "retention", "git", "incidents", "deliveries", "encryption", "tail"];

impl Loops {
    /// Waits until each loop has finished its current pass, then stops it.
    pub async fn stop(self) {
        self.cancel.cancel();
        self.tasks.wait().await;
    }
}

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
