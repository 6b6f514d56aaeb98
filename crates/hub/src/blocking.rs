//! Runs work that needs much CPU off the async threads.

use crate::Error;

/// Runs `work` on a thread for blocking work. Parsing and rendering belong there: the text of a draft is untrusted and
/// may be expensive.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Internal(Box::new(error)))
}
