//! The user whose request a task works on, so that expensive work and memory are divided between users. It decides nothing else: permissions
//! are those of the actor that a verb of the hub is given.

tokio::task_local! {
    static REQUESTER: String;
}

/// Runs a request of this user.
pub async fn run_for_requester<F: Future>(name: String, request: F) -> F::Output {
    REQUESTER.scope(name, request).await
}

/// Starts work of this user that goes on in tasks of its own.
pub fn start_for_requester<T>(name: String, start: impl FnOnce() -> T) -> T {
    REQUESTER.sync_scope(name, start)
}

/// The user whose request this task works on; `None` in a task of its own.
pub fn current_requester() -> Option<String> {
    REQUESTER.try_with(Clone::clone).ok()
}

/// In whose turn and share this task works: those of its user. What no user requested has its own.
pub fn current_turn() -> String {
    current_requester().map_or_else(|| "background".to_owned(), |name| format!("user {name}"))
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
}
