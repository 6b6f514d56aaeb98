//! Tasks of their own in the turns of the user whose request starts them ([`source::requester`]).

use source::requester::current_requester;
pub use source::requester::run_for_requester;
pub(crate) use source::requester::{current_turn, start_for_requester};
use tokio::task::JoinHandle;

/// Starts a task of its own for the user of this one.
pub(crate) fn spawn_for_requester<F>(task: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    match current_requester() {
        Some(name) => tokio::spawn(run_for_requester(name, task)),
        None => tokio::spawn(task),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
