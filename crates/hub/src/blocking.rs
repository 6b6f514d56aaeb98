//! Runs work that needs much CPU off the async threads.

use source::archive::{self, MAX_ARCHIVE_BYTES};
use source::memory_budget::MemoryReservation;
use source::retained_memory::RetainedMemory;
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::Error;

/// Runs `work` on a thread for blocking work. Parsing and rendering belong there: the text of a draft is untrusted and
/// may be expensive. It goes on although its request is gone, and has the memory of the request until then.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let retained = RetainedMemory::current();
    let work = move || {
        let result = work();
        drop(retained);
        result
    };
    tokio::task::spawn_blocking(work).await.map_err(|error| Error::Internal(Box::new(error)))
}

/// Reads a packed chart on a thread for blocking work, once the memory for its content is free.
///
/// # Errors
/// Others use the memory for longer than a request waits.
pub(crate) async fn read_archive<T: Send + 'static>(
    archive: Vec<u8>,
    read: impl FnOnce(Vec<u8>) -> T + Send + 'static,
) -> Result<T, Error> {
    let memory = archive::reserve_memory(archive.len()).await?;
    read_within(memory, archive, read).await
}

/// The same for a stored archive, which is loaded once the memory for the largest one is free.
///
/// # Errors
/// As [`read_archive`], and those of `load`.
pub(crate) async fn read_stored_archive<T: Send + 'static>(
    load: impl Future<Output = Result<Vec<u8>, Error>>,
    read: impl FnOnce(Vec<u8>) -> T + Send + 'static,
) -> Result<T, Error> {
    let mut memory = archive::reserve_memory(MAX_ARCHIVE_BYTES).await?;
    let archive = load.await?;
    memory.shrink_to(archive::max_memory(archive.len()));
    read_within(memory, archive, read).await
}

async fn read_within<T: Send + 'static>(
    memory: MemoryReservation,
    archive: Vec<u8>,
    read: impl FnOnce(Vec<u8>) -> T + Send + 'static,
) -> Result<T, Error> {
    run_blocking(move || {
        let result = read(archive);
        drop(memory);
        result
    })
    .await
}

/// Runs `work` on this thread, which hands its async tasks over to another one; for a caller that can't wait, such as a
/// page that is being rendered. A runtime with one thread has no other: there `work` runs like any other code.
pub fn run_blocking_in_place<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use source::retained_memory::run_with_memory;
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 1)]
    async fn other_tasks_of_the_thread_run_while_it_parses() {
        let (sender, receiver) = mpsc::channel();
        let work = tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()) });
            run_blocking_in_place(|| receiver.recv_timeout(Duration::from_secs(60)))
        });
        assert_eq!(work.await.unwrap(), Ok(()));
    }

    #[tokio::test]
    async fn a_runtime_with_one_thread_runs_it_like_other_code() {
        assert_eq!(run_blocking_in_place(|| 1), 1);
    }

    #[tokio::test]
    async fn p19_work_whose_request_is_gone_retains_what_the_request_has_reserved() {
        let reserved = Arc::new(());
        let (started, has_started) = oneshot::channel();
        let (proceed, may_proceed) = mpsc::channel::<()>();
        let work = run_blocking(move || {
            let _ = started.send(());
            may_proceed.recv_timeout(Duration::from_secs(60)).is_ok()
        });
        let request = tokio::spawn(run_with_memory(reserved.clone(), work));
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
