//! What a task has of the request that it works on: the turns of its user, what the request has reserved, and what is left of its wait for
//! memory. A task that is spawned has none of them, unless it runs with the context of the task that spawns it.

use tokio::task::JoinHandle;

use crate::memory_budget::SharedWait;
use crate::requester::{current_requester, run_for_requester};
use crate::retained_memory::{MemoryReference, RetainedMemory, run_with_reference};

/// The user of a request, a reference to its reservations, and what is left of its wait for memory. The tasks that run with it do not retain
/// them: the request, and what works for it on threads for blocking work, does.
#[derive(Debug, Clone)]
pub struct RequestContext {
    requester: Option<String>,
    memory: Option<MemoryReference>,
    memory_wait: Option<SharedWait>,
}

impl RequestContext {
    /// That of this task.
    pub fn current() -> Self {
        let memory = RetainedMemory::current().map(|memory| memory.to_reference());
        Self { requester: current_requester(), memory, memory_wait: SharedWait::current() }
    }

    /// The same for a task that other requests await too: each of its reservations waits for itself. Otherwise it would fail for all of them
    /// at once when the request that has started it had waited before.
    #[must_use]
    pub fn with_own_wait(self) -> Self {
        Self { memory_wait: None, ..self }
    }

    /// Starts a task of its own with it. The task may go on longer than the request.
    pub fn spawn<F>(self, task: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        tokio::spawn(self.run(task))
    }

    /// Runs a task with it.
    pub async fn run<F: Future>(self, task: F) -> F::Output {
        let Self { requester, memory, memory_wait } = self;
        // On the heap: each layer below would have it on its stack more than once, and tasks of the hub have up to 100 KiB.
        let task = Box::pin(task);
        let task = async move {
            match memory {
                Some(memory) => run_with_reference(memory, task).await,
                None => task.await,
            }
        };
        let task = async move {
            match memory_wait {
                Some(wait) => wait.run(task).await,
                None => task.await,
            }
        };
        match requester {
            Some(name) => run_for_requester(name, task).await,
            None => task.await,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, LazyLock};
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;
    use crate::memory_budget::MemoryBudget;
    use crate::requester::current_turn;
    use crate::retained_memory::run_with_memory;

    #[tokio::test]
    async fn p20_a_spawned_task_has_the_turns_and_the_memory_of_its_request_and_does_not_retain_them() {
        let reserved = Arc::new(());
        let (proceed, may_proceed) = oneshot::channel::<()>();
        let spawned = run_with_memory(reserved.clone(), async move {
            let context = RequestContext::current();
            let (found, of_request) = oneshot::channel();
            let task = context.spawn(async move {
                let _ = found.send((current_turn(), RetainedMemory::current().is_some()));
                may_proceed.await.unwrap();
                (current_turn(), RetainedMemory::current().is_some())
            });
            assert_eq!(of_request.await.unwrap(), ("user ada".to_owned(), true));
            (task,)
        });
        let (task,) = run_for_requester("ada".to_owned(), spawned).await;
        assert_eq!(Arc::strong_count(&reserved), 1, "the request has ended");
        proceed.send(()).unwrap();
        assert_eq!(task.await.unwrap(), ("user ada".to_owned(), false));
    }

    #[tokio::test]
    async fn p19_what_a_spawned_task_retains_of_its_request_outlives_the_request() {
        let reserved = Arc::new(());
        let request = run_with_memory(reserved.clone(), async {
            RequestContext::current().spawn(async { RetainedMemory::current() }).await.unwrap()
        });
        let retained = request.await;
        assert!(retained.is_some());
        assert_eq!(Arc::strong_count(&reserved), 2);
        drop(retained);
        assert_eq!(Arc::strong_count(&reserved), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn p20_what_others_await_too_waits_for_memory_although_its_request_has_waited_before() {
        static BUDGET: LazyLock<MemoryBudget> = LazyLock::new(|| MemoryBudget::new("a test", 1 << 20));
        async fn reserve() -> (bool, String) {
            let reserved = BUDGET.reserve(u64::MAX).await;
            (reserved.is_ok(), current_turn())
        }
        let in_use = BUDGET.reserve(1).await.unwrap();
        let request = async {
            BUDGET.reserve(u64::MAX).await.unwrap_err();
            let own = RequestContext::current().spawn(reserve());
            let shared = RequestContext::current().with_own_wait().spawn(reserve());
            assert_eq!(own.await.unwrap(), (false, "user ada".to_owned()), "nothing is left of the wait");
            tokio::time::sleep(Duration::from_secs(1)).await;
            drop(in_use);
            assert_eq!(shared.await.unwrap(), (true, "user ada".to_owned()));
        };
        run_for_requester("ada".to_owned(), SharedWait::default().run(request)).await;
    }

    #[tokio::test]
    async fn a_large_task_is_not_in_every_layer_of_its_context() {
        let large = [0_u8; 64 << 10];
        let task = async move {
            tokio::task::yield_now().await;
            large.len()
        };
        let running = Box::pin(RequestContext::current().run(task));
        let size = size_of_val(&*running);
        assert!(size < 3 * large.len(), "{size}");
        assert_eq!(running.await, large.len());
    }

    #[tokio::test]
    async fn a_task_of_no_request_has_no_turn_of_a_user() {
        assert_eq!(RequestContext::current().run(async { current_turn() }).await, "background");
    }
}
