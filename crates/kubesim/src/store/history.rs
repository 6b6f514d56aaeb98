//! The bounded list of recent changes to one kind.

use std::collections::VecDeque;
use std::sync::Arc;

use super::ObjectChange;

/// Recent changes, oldest first.
#[derive(Debug)]
pub(crate) struct ChangeHistory {
    changes: VecDeque<Arc<ObjectChange>>,
    limit: usize,
    /// Version of the newest change that was dropped.
    dropped_version: u64,
}

impl ChangeHistory {
    pub(crate) fn new(keep: usize) -> ChangeHistory {
        ChangeHistory { changes: VecDeque::new(), limit: keep.max(1), dropped_version: 0 }
    }

    pub(crate) fn push(&mut self, change: Arc<ObjectChange>) {
        if self.changes.len() >= self.limit
            && let Some(old) = self.changes.pop_front()
        {
            self.dropped_version = old.rv;
        }
        self.changes.push_back(change);
    }

    pub(crate) fn clear(&mut self) {
        if let Some(last) = self.changes.back() {
            self.dropped_version = last.rv;
        }
        self.changes.clear();
    }

    /// Changes after a version.
    ///
    /// # Errors
    /// The oldest version that can still be requested, if some of the changes were dropped.
    pub(crate) fn changes_after(&self, rv: u64) -> Result<Vec<Arc<ObjectChange>>, u64> {
        if rv < self.dropped_version {
            return Err(self.dropped_version);
        }
        let from = self.changes.partition_point(|c| c.rv <= rv);
        Ok(self.changes.range(from..).cloned().collect())
    }
}
