//! Supervision of background tasks: a task that panics or ends is restarted, counted and shown; it never just stops.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt as _;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Hub;

/// Pause before the first restart.
const MIN_PAUSE: Duration = Duration::from_millis(500);
/// Longest pause between two restarts.
const MAX_PAUSE: Duration = Duration::from_secs(60);
/// After a run of this length the next pause is short again.
const STABLE_AFTER: Duration = Duration::from_secs(120);

/// A future panicked.
#[derive(Debug, thiserror::Error)]
#[error("panic: {0}")]
pub struct Panicked(String);

/// Runs a future and turns a panic into an error, so that it ends only the work of that future.
///
/// # Errors
/// It panicked.
pub(crate) async fn catch_panic<T>(work: impl Future<Output = T>) -> Result<T, Panicked> {
    // State that the future shares is behind a lock without poisoning, or in the database.
    AssertUnwindSafe(work).catch_unwind().await.map_err(|payload| {
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        Panicked(text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default())
    })
}

/// The tasks of one name: a loop, or the in-process agents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskStatus {
    /// How many run.
    pub running: u32,
    /// How many should run.
    pub expected: u32,
    /// How often one of them was restarted.
    pub restarts: u64,
    /// How many passes of a loop failed.
    pub failed_passes: u64,
}

/// The supervised tasks of a server, by name.
#[derive(Debug, Default)]
pub struct TaskRegistry(Mutex<BTreeMap<&'static str, TaskStatus>>);

impl TaskRegistry {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<&'static str, TaskStatus>> {
        self.0.lock()
    }

    fn update(&self, name: &'static str, change: impl FnOnce(&mut TaskStatus)) {
        change(self.lock().entry(name).or_default());
    }

    /// Every task that was started, by name.
    pub fn statuses(&self) -> BTreeMap<&'static str, TaskStatus> {
        self.lock().clone()
    }

    /// Announces a task before it is spawned, so that it is never missing from the statuses.
    pub(crate) fn announce(&self, name: &'static str) {
        self.update(name, |status| status.expected += 1);
    }

    /// Counts a failed pass of a loop.
    pub(crate) fn count_failed_pass(&self, name: &'static str) {
        self.update(name, |status| status.failed_passes += 1);
    }

    /// Runs a task until `cancel`; restarts it with a growing pause when it panics or ends before.
    pub(crate) async fn supervise<F: Future<Output = ()>>(
        &self,
        name: &'static str,
        cancel: CancellationToken,
        start: impl Fn() -> F,
    ) {
        let mut pause = MIN_PAUSE;
        loop {
            self.update(name, |status| status.running += 1);
            let started = Instant::now();
            let result = catch_panic(start()).await;
            self.update(name, |status| status.running -= 1);
            if cancel.is_cancelled() {
                return;
            }
            let reason = result.map_or_else(|panic| panic.to_string(), |()| "it ended".to_owned());
            if started.elapsed() > STABLE_AFTER {
                pause = MIN_PAUSE;
            }
            tracing::error!(task = name, reason, ?pause, "a background task stopped; it is restarted");
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = cancel.cancelled() => return,
            }
            pause = (pause * 2).min(MAX_PAUSE);
            self.update(name, |status| status.restarts += 1);
        }
    }
}

impl Hub {
    /// The supervised tasks of this server, by name.
    pub fn task_statuses(&self) -> BTreeMap<&'static str, TaskStatus> {
        self.tasks().statuses()
    }

    /// Announces a task that [`Hub::supervise`] will run.
    pub fn expect_task(&self, name: &'static str) {
        self.tasks().announce(name);
    }

    /// Runs a task until `cancel`; restarts and counts it when it panics or ends before.
    pub async fn supervise<F: Future<Output = ()>>(
        self,
        name: &'static str,
        cancel: CancellationToken,
        start: impl Fn() -> F,
    ) {
        self.tasks().supervise(name, cancel, start).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_task_that_panics_is_restarted_and_counted_until_it_is_cancelled() {
        let registry = Arc::new(TaskRegistry::default());
        let (cancel, runs) = (CancellationToken::new(), Arc::new(AtomicU64::new(0)));
        registry.announce("toy");
        let task = {
            let (registry, cancel, runs) = (registry.clone(), cancel.clone(), runs.clone());
            tokio::spawn(async move {
                let toy = || async {
                    if runs.fetch_add(1, SeqCst) < 3 {
                        std::panic::panic_any("poison");
                    }
                    cancel.cancelled().await;
                };
                registry.supervise("toy", cancel.clone(), toy).await;
            })
        };
        while runs.load(SeqCst) < 4 {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        let status = registry.statuses()["toy"];
        assert_eq!(status, TaskStatus { running: 1, expected: 1, restarts: 3, failed_passes: 0 });
        cancel.cancel();
        task.await.unwrap();
        assert_eq!(registry.statuses()["toy"].running, 0);
    }

    #[tokio::test]
    async fn a_panic_becomes_an_error_with_its_text() {
        let panicked = catch_panic(async { std::panic::panic_any("poison".to_owned()) }).await;
        assert_eq!(panicked.unwrap_err().to_string(), "panic: poison");
    }
}
