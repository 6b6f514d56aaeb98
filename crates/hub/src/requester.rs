//! Tasks of their own in the turns of the user whose request starts them ([`source::request_context`]).

use source::request_context::RequestContext;
pub use source::requester::run_for_requester;
pub(crate) use source::requester::{current_turn, start_for_requester};
use tokio::task::JoinHandle;

/// Starts a task of its own for the user of this one. What it does on threads for blocking work retains the memory of the request.
pub(crate) fn spawn_for_requester<F>(task: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    RequestContext::current().spawn(task)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use source::requester::current_requester;
    use source::retained_memory::run_with_memory;
    use tokio::sync::oneshot;

    use super::*;
    use crate::blocking::run_blocking;

    #[tokio::test]
    async fn a_request_has_its_user_and_a_task_of_its_own_has_none() {
        let found = run_for_requester("ada".to_owned(), async {
            let own = tokio::spawn(async { current_requester() }).await.unwrap();
            (current_requester(), own)
        });
        assert_eq!(found.await, (Some("ada".to_owned()), None));
    }

    #[tokio::test]
    async fn p20_a_task_that_goes_on_without_its_request_has_the_turns_of_its_user() {
        let turn = async { spawn_for_requester(async { current_turn() }).await.unwrap() };
        assert_eq!(run_for_requester("ada".to_owned(), turn).await, "user ada");
        let turn_of_nobody = spawn_for_requester(async { current_turn() });
        assert_eq!(turn_of_nobody.await.unwrap(), "background");
    }

    #[tokio::test]
    async fn p19_blocking_work_of_a_task_that_a_request_has_started_retains_the_memory_of_the_request() {
        let reserved = Arc::new(());
        let (started, has_started) = oneshot::channel();
        let (proceed, may_proceed) = mpsc::channel::<()>();
        let work = run_blocking(move || {
            let _ = started.send(());
            may_proceed.recv_timeout(Duration::from_secs(60)).is_ok()
        });
        let request = async move { spawn_for_requester(work).await };
        let request = tokio::spawn(run_with_memory(reserved.clone(), request));
        has_started.await.unwrap();
        request.abort();
        assert!(request.await.is_err_and(|error| error.is_cancelled()));
        assert_eq!(Arc::strong_count(&reserved), 2);
        proceed.send(()).unwrap();
        while Arc::strong_count(&reserved) > 1 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
}
