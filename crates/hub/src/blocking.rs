//! Runs work that needs much CPU off the async threads.

use domain::Digest;
use source::archive;
use source::client_shares::ClientReservation;
use source::retained_memory::RetainedMemory;

use crate::{Error, Hub};

/// Runs `work` on a thread for blocking work. Parsing and rendering belong there: the text of a draft is untrusted and
/// may be expensive. It goes on although its request is gone, and has the memory of the request until then.
///
/// # Errors
/// It panicked, or the server ends.
pub async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
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

impl Hub {
    /// The same for a stored archive, which is measured first and loaded once the memory for it is free. No connection of the database waits
    /// for that.
    ///
    /// # Errors
    /// As [`read_archive`]; the archive is missing, which retention never causes.
    pub(crate) async fn read_stored_archive<T: Send + 'static>(
        &self,
        digest: &Digest,
        read: impl FnOnce(Vec<u8>) -> T + Send + 'static,
    ) -> Result<T, Error> {
        self.read_stored_archive_with(digest, 0, read).await
    }

    /// The same with memory of so many bytes for what `read` parses of its files.
    ///
    /// # Errors
    /// As [`Self::read_stored_archive`].
    pub(crate) async fn read_stored_archive_with<T: Send + 'static>(
        &self,
        digest: &Digest,
        parsed: u64,
        read: impl FnOnce(Vec<u8>) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let missing = || store::Error::MissingRow { table: "artifact", id: digest.to_string() };
        let mut tx = self.read().await?;
        let size = store::artifact::measure(&mut tx, digest).await?.ok_or_else(missing)?;
        drop(tx);
        let memory = archive::reserve_memory_with(size, parsed).await?;
        let mut tx = self.read().await?;
        let archive = store::artifact::get(&mut tx, digest).await?.ok_or_else(missing)?;
        drop(tx);
        read_within(memory, archive, read).await
    }
}

async fn read_within<T: Send + 'static>(
    memory: ClientReservation,
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

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::time::Duration;

    use source::client_shares::ARCHIVES_OF_USERS;
    use source::retained_memory::run_with_memory;
    use tokio::sync::oneshot;

    use super::*;
    use crate::{Clock, HubConfig, run_for_requester};

    #[tokio::test]
    async fn p20_a_small_stored_chart_is_read_beside_large_ones_of_its_user_and_needs_its_own_size() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let archive = vec![7; 1 << 10];
        let digest = Digest::compute(&archive);
        let mut tx = hub.write().await.unwrap();
        store::artifact::put(&mut tx, &digest, &archive, hub.clock().now()).await.unwrap();
        tx.commit().await.unwrap();
        let read = Box::pin(hub.read_stored_archive(&digest, |archive| archive.len()));
        let share = ARCHIVES_OF_USERS.share_bytes();
        let large = ARCHIVES_OF_USERS.reserve("user rita".to_owned(), share - (4 << 20)).await.unwrap();
        assert_eq!(run_for_requester("rita".to_owned(), read).await.unwrap(), 1 << 10);
        drop(large);
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
