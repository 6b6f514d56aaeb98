//! How long a request waits for memory in all. It reserves in several budgets one after the other, and each wait would otherwise be as long
//! as that of a request that needs only one.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::RESERVE_WAIT;

tokio::task_local! {
    static SHARED_WAIT: SharedWait;
}

/// What is left of the wait of one request. Reservations that wait at the same time count once.
#[derive(Debug, Clone)]
pub struct SharedWait(Arc<Mutex<SharedWaitState>>);

#[derive(Debug)]
struct SharedWaitState {
    left: Duration,
    /// Reservations that wait now.
    waiting: u32,
    /// Since when at least one waits.
    since: Instant,
}

impl Default for SharedWait {
    /// That of a request that has not waited yet.
    fn default() -> Self {
        let state = SharedWaitState { left: RESERVE_WAIT, waiting: 0, since: Instant::now() };
        Self(Arc::new(Mutex::new(state)))
    }
}

impl SharedWait {
    /// That of the request that this task works on; `None` in a task of its own, whose reservations wait each for themselves.
    pub fn current() -> Option<Self> {
        SHARED_WAIT.try_with(Clone::clone).ok()
    }

    /// Runs a request, or a task that works on it.
    pub async fn run<F: Future>(self, task: F) -> F::Output {
        SHARED_WAIT.scope(self, task).await
    }

    /// A wait begins: as much of it as is left. It ends when the other value is dropped.
    pub(super) fn begin(self, wait: Duration) -> (Duration, CurrentWait) {
        let mut state = self.0.lock();
        if state.waiting == 0 {
            state.since = Instant::now();
        }
        state.waiting += 1;
        let left = state.left.saturating_sub(state.since.elapsed());
        drop(state);
        (wait.min(left), CurrentWait(self))
    }
}

/// A reservation that waits.
pub(super) struct CurrentWait(SharedWait);

impl Drop for CurrentWait {
    fn drop(&mut self) {
        let mut state = self.0.0.lock();
        state.waiting -= 1;
        if state.waiting == 0 {
            state.left = state.left.saturating_sub(state.since.elapsed());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory_budget::MemoryBudget;

    /// How many seconds a reservation of all of a budget waited, rounded, and whether it was made.
    async fn reserve(budget: &MemoryBudget) -> (u64, bool) {
        let began = Instant::now();
        let reserved = budget.reserve(u64::MAX).await;
        ((began.elapsed() + Duration::from_millis(500)).as_secs(), reserved.is_ok())
    }

    #[tokio::test(start_paused = true)]
    async fn p20_a_request_waits_in_all_budgets_together_as_long_as_in_one() {
        let (first, second) = (MemoryBudget::new("a test", 1 << 20), MemoryBudget::new("a test", 1 << 20));
        let (of_first, _of_second) = (first.reserve(1).await.unwrap(), second.reserve(1).await.unwrap());
        let request = async {
            let release = async {
                tokio::time::sleep(Duration::from_secs(6)).await;
                drop(of_first);
            };
            let (waited, ()) = tokio::join!(reserve(&first), release);
            assert_eq!(waited, (6, true));
            assert_eq!(reserve(&second).await, (4, false), "the rest of the wait");
            assert_eq!(reserve(&second).await, (0, false));
            assert_eq!(reserve(&first).await, (0, true), "what is free needs no wait");
        };
        SharedWait::default().run(request).await;
        assert_eq!(reserve(&second).await, (10, false), "a task of its own");
    }

    #[tokio::test(start_paused = true)]
    async fn p20_reservations_of_a_request_that_wait_at_the_same_time_count_once() {
        let budget = MemoryBudget::new("a test", 1 << 20);
        let reserved = budget.reserve(1).await.unwrap();
        let request = async {
            let release = async {
                tokio::time::sleep(Duration::from_secs(6)).await;
                drop(reserved);
            };
            let (one, other, ()) = tokio::join!(reserve(&budget), reserve(&budget), release);
            assert_eq!((one, other), ((6, true), (6, true)));
            let _reserved = budget.reserve(1).await.unwrap();
            assert_eq!(reserve(&budget).await, (4, false));
        };
        SharedWait::default().run(request).await;
    }
}
