//! The user whose request a task works on, so that expensive work of all users is done in turns. It decides nothing else: permissions are
//! those of the [`crate::Actor`] that a verb is given.

use tokio::task::JoinHandle;

tokio::task_local! {
    static REQUESTER: String;
}

/// Runs a request of this user.
pub async fn run_for_requester<F: Future>(name: String, request: F) -> F::Output {
    REQUESTER.scope(name, request).await
}

/// Starts work of this user that goes on in tasks of its own.
pub(crate) fn start_for_requester<T>(name: String, start: impl FnOnce() -> T) -> T {
    REQUESTER.sync_scope(name, start)
}

/// The user whose request this task works on; `None` in a task of its own.
fn current_requester() -> Option<String> {
    REQUESTER.try_with(Clone::clone).ok()
}

/// In whose turn expensive work of this task is done: that of its user. What no user requested has turns of its own.
pub(crate) fn current_turn() -> String {
    current_requester().map_or_else(|| "background".to_owned(), |name| format!("user {name}"))
}

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
