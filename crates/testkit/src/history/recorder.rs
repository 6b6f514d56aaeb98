//! Records a history while a run takes place.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use super::{Action, ApiServerChange, ClientOperation, DatabaseChange, History, HistoryEntry, Outcome};

/// Collects entries from all tasks of a run, in real-time order.
#[derive(Debug)]
pub struct HistoryRecorder {
    seed: u64,
    began: Instant,
    next_operation: AtomicU64,
    entries: Mutex<Vec<HistoryEntry>>,
}

impl HistoryRecorder {
    /// An empty history of a run with this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, began: Instant::now(), next_operation: AtomicU64::new(1), entries: Mutex::default() }
    }

    /// The seed of the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many of the actions up to now match.
    pub fn count(&self, matches: impl Fn(&Action) -> bool) -> usize {
        self.entries.lock().iter().filter(|entry| matches(&entry.action)).count()
    }

    /// Records an action.
    pub fn record(&self, action: Action) {
        let mut entries = self.entries.lock();
        let millis = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        entries.push(HistoryEntry { millis, action });
    }

    /// Records a change on a cluster.
    pub fn record_cluster(&self, cluster: &str, change: ApiServerChange) {
        self.record(Action::Cluster { cluster: cluster.to_owned(), change });
    }

    /// Records the invocation of an operation; call it before the request is sent. Returns the number for
    /// [`HistoryRecorder::complete`].
    pub fn invoke(&self, operation: ClientOperation) -> u64 {
        let id = self.next_operation.fetch_add(1, Ordering::Relaxed);
        self.record(Action::Invoked { id, operation });
        id
    }

    /// Records what an operation returned; call it after the response was received.
    pub fn complete(&self, id: u64, outcome: Outcome) {
        self.record(Action::Completed { id, outcome });
    }

    /// The history up to now, with the changes of the database.
    pub fn finish(&self, database: Vec<DatabaseChange>) -> History {
        History { seed: self.seed, entries: self.entries.lock().clone(), database }
    }
}
