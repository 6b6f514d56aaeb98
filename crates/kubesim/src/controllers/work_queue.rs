//! Keys with the time they are due; each key at most once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tokio::time::Instant;

use super::Controller;

/// Pending keys, ordered by due time.
#[derive(Default)]
pub(crate) struct WorkQueue {
    due: HashMap<(Controller, String), Instant>,
    order: BinaryHeap<Reverse<(Instant, u64)>>,
    keys: HashMap<u64, (Controller, String)>,
    next_number: u64,
}

impl WorkQueue {
    /// Enqueues a key; the earlier of two times wins.
    pub(crate) fn push(&mut self, controller: Controller, key: &str, at: Instant) {
        let entry = (controller, key.to_owned());
        if self.due.get(&entry).is_some_and(|due| *due <= at) {
            return;
        }
        self.due.insert(entry.clone(), at);
        self.next_number += 1;
        self.order.push(Reverse((at, self.next_number)));
        self.keys.insert(self.next_number, entry);
    }

    /// When the next key is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.order.peek().map(|Reverse((at, _))| *at)
    }

    /// The next key that is due.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Controller, String)> {
        while let Some(Reverse((at, number))) = self.order.peek().copied() {
            if at > now {
                return None;
            }
            self.order.pop();
            let Some(entry) = self.keys.remove(&number) else { continue };
            // A rescheduled key has outdated entries; only the current one is valid.
            if self.due.get(&entry) == Some(&at) {
                self.due.remove(&entry);
                return Some(entry);
            }
        }
        None
    }
}
