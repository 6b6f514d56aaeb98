//! The free memory of a budget, and what waits for it.
//!
//! What waits is served in order. A small reservation does not wait for a large one in front of it: it is served as soon as it is free
//! itself. What overtakes the first one that waits is bounded, so that the large one is served too.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

/// A small reservation is at most this part of the budget.
const SMALL_PART: u64 = 16;

/// The queue of a budget. Clones share it.
#[derive(Debug, Clone)]
pub(super) struct MemoryQueue(Arc<Mutex<MemoryQueueState>>);

/// Memory that was acquired, or waits to be; dropped, it is free again or leaves the queue.
#[derive(Debug)]
pub(super) struct QueuedMemory {
    queue: Arc<Mutex<MemoryQueueState>>,
    id: u64,
    bytes: u64,
}

#[derive(Debug)]
struct MemoryQueueState {
    total: u64,
    free: u64,
    last_id: u64,
    waiting: VecDeque<WaitingReservation>,
    /// What has overtaken the first one that waits, in bytes.
    overtaken: u64,
}

#[derive(Debug)]
struct WaitingReservation {
    id: u64,
    bytes: u64,
    admit: oneshot::Sender<()>,
}

impl MemoryQueue {
    /// A queue for this many bytes, all of them free.
    pub fn new(total: u64) -> Self {
        let state =
            MemoryQueueState { total, free: total, last_id: 0, waiting: VecDeque::new(), overtaken: 0 };
        Self(Arc::new(Mutex::new(state)))
    }

    /// Waits for memory, which must not be more than the budget has.
    pub async fn acquire(&self, bytes: u64) -> QueuedMemory {
        let (memory, mut admitted) = self.enqueue(bytes);
        if admitted.try_recv().is_err() {
            // The sender is dropped without a message only with the memory.
            let _ = admitted.await;
        }
        memory
    }

    /// Memory that is free at once; `None` if it would have to wait.
    pub fn try_acquire(&self, bytes: u64) -> Option<QueuedMemory> {
        let (memory, mut admitted) = self.enqueue(bytes);
        admitted.try_recv().is_ok().then_some(memory)
    }

    /// The bytes that nobody has.
    pub fn free_bytes(&self) -> u64 {
        self.0.lock().free
    }

    fn enqueue(&self, bytes: u64) -> (QueuedMemory, oneshot::Receiver<()>) {
        let (admit, admitted) = oneshot::channel();
        let mut state = self.0.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.waiting.push_back(WaitingReservation { id, bytes, admit });
        state.admit();
        drop(state);
        (QueuedMemory { queue: self.0.clone(), id, bytes }, admitted)
    }
}

impl QueuedMemory {
    /// The bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds memory of the same queue.
    pub fn merge(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
    }

    /// Releases what exceeds this many bytes.
    pub fn shrink_to(&mut self, bytes: u64) {
        let excess = self.bytes.saturating_sub(bytes);
        if excess > 0 {
            self.bytes = bytes;
            self.queue.lock().release(excess);
        }
    }
}

impl Drop for QueuedMemory {
    fn drop(&mut self) {
        let mut state = self.queue.lock();
        if state.remove_waiting(self.id) {
            state.admit();
        } else {
            state.release(self.bytes);
        }
    }
}

impl MemoryQueueState {
    /// Gives the free memory to those that wait.
    fn admit(&mut self) {
        while self.waiting.front().is_some_and(|first| first.bytes <= self.free) {
            self.overtaken = 0;
            self.serve(0);
        }
        let mut at = 1;
        while let Some(bytes) = self.waiting.get(at).map(|waiting| waiting.bytes) {
            let is_small = bytes <= self.total / SMALL_PART;
            if is_small && bytes <= self.free && self.overtaken + bytes <= self.total {
                self.overtaken += bytes;
                self.serve(at);
            } else {
                at += 1;
            }
        }
    }

    /// Serves the one at this position.
    fn serve(&mut self, at: usize) {
        if let Some(served) = self.waiting.remove(at) {
            self.free -= served.bytes;
            // Whoever is gone meanwhile releases the memory when it is dropped.
            let _ = served.admit.send(());
        }
    }

    fn release(&mut self, bytes: u64) {
        self.free += bytes;
        self.admit();
    }

    /// Removes what waits; `false` if it was served.
    fn remove_waiting(&mut self, id: u64) -> bool {
        let Some(at) = self.waiting.iter().position(|waiting| waiting.id == id) else { return false };
        self.waiting.remove(at);
        if at == 0 {
            self.overtaken = 0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether what was enqueued has its memory.
    fn is_served(queued: &mut (QueuedMemory, oneshot::Receiver<()>)) -> bool {
        queued.1.try_recv().is_ok()
    }

    #[test]
    fn p19_a_small_reservation_does_not_wait_behind_a_large_one_that_waits() {
        let queue = MemoryQueue::new(160);
        let slow = queue.enqueue(100).0;
        let mut large = queue.enqueue(80);
        let mut medium = queue.enqueue(11);
        let mut small = queue.enqueue(10);
        assert!(is_served(&mut small), "it is free");
        assert!(!is_served(&mut large) && !is_served(&mut medium), "what is not small has its turn");
        drop(slow);
        assert!(is_served(&mut large) && is_served(&mut medium));
        drop((large, medium, small));
        assert_eq!(queue.free_bytes(), 160);
    }

    #[test]
    fn p19_a_large_reservation_is_overtaken_by_no_more_than_the_budget_has() {
        let queue = MemoryQueue::new(160);
        let slow = queue.enqueue(100).0;
        let mut large = queue.enqueue(80);
        for _ in 0..16 {
            assert!(is_served(&mut queue.enqueue(10)));
        }
        let mut next = queue.enqueue(10);
        assert!(!is_served(&mut next), "it waits although 60 are free");
        drop(slow);
        assert!(is_served(&mut large) && is_served(&mut next));
    }

    #[test]
    fn p19_what_leaves_the_queue_gives_its_turn_to_the_next() {
        let queue = MemoryQueue::new(160);
        let first = queue.enqueue(100).0;
        let large = queue.enqueue(100);
        let mut next = queue.enqueue(50);
        assert!(!is_served(&mut next));
        drop(large);
        assert!(is_served(&mut next));
        // Served, and dropped before it was polled.
        drop(next);
        drop(first);
        assert_eq!(queue.free_bytes(), 160);
    }
}
