//! The user whose request a task works on, so that expensive work of all users is done in turns. It decides nothing else: permissions are
//! those of the [`crate::Actor`] that a verb is given.

tokio::task_local! {
    static REQUESTER: String;
}

/// Runs a request of this user.
pub async fn run_for_requester<F: Future>(name: String, request: F) -> F::Output {
    REQUESTER.scope(name, request).await
}

/// The user whose request this task works on; `None` in a task of its own.
pub(crate) fn current_requester() -> Option<String> {
    REQUESTER.try_with(Clone::clone).ok()
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
