//! What a request has reserved, for its work on threads for blocking work.
//!
//! A request whose client is gone is dropped, and its reservations with it. What it has started on such a thread can't be ended: it needs its
//! memory to its end, and otherwise a client that repeats a request and does not wait would have as many of them in memory as there are
//! threads.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::client_shares::{ClientReservation, ClientShares};

tokio::task_local! {
    static CURRENT: CurrentMemory;
}

/// What a task has of the reservations of its request.
#[derive(Clone)]
enum CurrentMemory {
    /// It is the task of the request, or part of it.
    Retained(RetainedMemory),
    /// It was spawned by the request, and may go on longer.
    Referenced(MemoryReference),
}

/// The reservations of a request. Clones share them, and they end with the last one.
#[derive(Clone)]
pub struct RetainedMemory {
    reservations: Arc<Reservations>,
}

/// Refers to the reservations of a request, and does not retain them.
#[derive(Clone)]
pub struct MemoryReference {
    reservations: Weak<Reservations>,
}

struct Reservations {
    _memory: Box<dyn Any + Send + Sync>,
    /// What was reserved later, for what is found while the request is executed.
    later: Mutex<Option<ClientReservation>>,
    _outer: Option<RetainedMemory>,
}

impl RetainedMemory {
    /// That of the request on which this task works; `None` if it has reserved nothing, or has ended.
    pub fn current() -> Option<Self> {
        match CURRENT.try_with(Clone::clone).ok()? {
            CurrentMemory::Retained(memory) => Some(memory),
            CurrentMemory::Referenced(reference) => {
                Some(Self { reservations: reference.reservations.upgrade()? })
            }
        }
    }

    /// Reserves so many bytes more in these shares until the request ends, but only if they are free at once; whether they were. A request
    /// uses the same shares each time, and is never refused because of what it has there itself: what is too large is alone.
    #[must_use]
    pub fn try_reserve_more(&self, shares: &ClientShares, client: String, bytes: u64) -> bool {
        let mut later = self.reservations.later.lock();
        if let Some(reserved) = later.as_mut() {
            return reserved.try_extend_in_full(bytes);
        }
        *later = shares.try_reserve_in_full(client, bytes);
        later.is_some()
    }

    /// A reference to them.
    pub fn to_reference(&self) -> MemoryReference {
        MemoryReference { reservations: Arc::downgrade(&self.reservations) }
    }
}

impl fmt::Debug for MemoryReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryReference").finish_non_exhaustive()
    }
}

/// Runs a request with this reservation, and those that it has already.
pub async fn run_with_memory<F: Future>(memory: impl Any + Send + Sync, request: F) -> F::Output {
    let reservations = Reservations {
        _memory: Box::new(memory),
        later: Mutex::default(),
        _outer: RetainedMemory::current(),
    };
    let memory = RetainedMemory { reservations: Arc::new(reservations) };
    CURRENT.scope(CurrentMemory::Retained(memory), request).await
}

/// Runs a task that a request has spawned: what it starts on threads for blocking work retains the reservations of the request, if they still
/// exist.
pub async fn run_with_reference<F: Future>(reference: MemoryReference, task: F) -> F::Output {
    CURRENT.scope(CurrentMemory::Referenced(reference), task).await
}

#[cfg(test)]
mod tests {
    use std::sync::{LazyLock, mpsc};
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::task::spawn_blocking;

    use super::*;
    use crate::memory_budget::MemoryBudget;

    #[tokio::test]
    async fn p19_work_that_goes_on_without_its_request_has_the_memory_of_the_request_until_it_ends() {
        let budget = MemoryBudget::new("a test", 4 << 20);
        let body = budget.reserve(1 << 20).await.unwrap();
        let values = budget.reserve(2 << 20).await.unwrap();
        let (started, has_started) = oneshot::channel();
        let (proceed, may_proceed) = mpsc::channel::<()>();
        let request = run_with_memory(values, async move {
            let retained = RetainedMemory::current();
            let work = spawn_blocking(move || {
                let _ = may_proceed.recv_timeout(Duration::from_secs(60));
                drop(retained);
            });
            started.send(()).unwrap();
            work.await
        });
        let request = tokio::spawn(run_with_memory(body, request));
        has_started.await.unwrap();
        request.abort();
        assert!(request.await.unwrap_err().is_cancelled());
        assert_eq!(budget.free_bytes(), 1 << 20, "both reservations are in use");
        proceed.send(()).unwrap();
        while budget.free_bytes() < 4 << 20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(RetainedMemory::current().is_none());
    }

    #[tokio::test]
    async fn p19_what_a_request_reserves_later_is_free_again_when_it_ends() {
        static ALL: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 4 << 20));
        static SHARES: ClientShares = ClientShares::new(&ALL, "a test of one client");
        let request = run_with_memory((), async {
            let request = RetainedMemory::current().unwrap();
            let reserve = |bytes| request.try_reserve_more(&SHARES, "ada".to_owned(), bytes);
            let reserved = [reserve(1 << 20), reserve(1 << 20), reserve(1 << 19)];
            (reserved, ALL.free_bytes())
        });
        // The third one exceeds the share, which nobody else uses.
        assert_eq!(request.await, ([true; 3], 3 << 19));
        assert_eq!(ALL.free_bytes(), 4 << 20);
    }
}
