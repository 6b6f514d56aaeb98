//! Keys with the time they are due; each key at most once.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use tokio::time::Instant;

use super::Desk;

/// The work to come.
#[derive(Default)]
pub(crate) struct Queue {
    due: HashMap<(Desk, String), Instant>,
    order: BinaryHeap<Reverse<(Instant, u64)>>,
    names: HashMap<u64, (Desk, String)>,
    next: u64,
}

impl Queue {
    /// Puts a key on a desk; the earlier of two times counts.
    pub(crate) fn push(&mut self, desk: Desk, key: &str, at: Instant) {
        let slot = (desk, key.to_owned());
        if self.due.get(&slot).is_some_and(|due| *due <= at) {
            return;
        }
        self.due.insert(slot.clone(), at);
        self.next += 1;
        self.order.push(Reverse((at, self.next)));
        self.names.insert(self.next, slot);
    }

    /// When the next key is due.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.order.peek().map(|Reverse((at, _))| *at)
    }

    /// The next key that is due.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<(Desk, String)> {
        while let Some(Reverse((at, number))) = self.order.peek().copied() {
            if at > now {
                return None;
            }
            self.order.pop();
            let Some(slot) = self.names.remove(&number) else { continue };
            // An entry that was moved forward is met again; only the present one counts.
            if self.due.get(&slot) == Some(&at) {
                self.due.remove(&slot);
                return Some(slot);
            }
        }
        None
    }
}
