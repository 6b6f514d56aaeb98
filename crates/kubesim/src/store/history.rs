//! The bounded list of recent changes to one kind.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Change;

/// Recent changes, oldest first.
#[derive(Debug)]
pub(crate) struct History {
    changes: VecDeque<Arc<Change>>,
    keep: usize,
    /// Version of the newest change that was dropped.
    dropped: u64,
}

impl History {
    pub(crate) fn new(keep: usize) -> History {
        History { changes: VecDeque::new(), keep: keep.max(1), dropped: 0 }
    }

    pub(crate) fn push(&mut self, change: Arc<Change>) {
        if self.changes.len() >= self.keep
            && let Some(old) = self.changes.pop_front()
        {
            self.dropped = old.rv;
        }
        self.changes.push_back(change);
    }

    pub(crate) fn clear(&mut self) {
        if let Some(last) = self.changes.back() {
            self.dropped = last.rv;
        }
        self.changes.clear();
    }

    /// Changes after a version.
    ///
    /// # Errors
    /// The oldest version that can still be asked for, if some of them were dropped.
    pub(crate) fn after(&self, rv: u64) -> Result<Vec<Arc<Change>>, u64> {
        if rv < self.dropped {
            return Err(self.dropped);
        }
        let from = self.changes.partition_point(|c| c.rv <= rv);
        Ok(self.changes.range(from..).cloned().collect())
    }
}
