//! Stored files of manifests, loaded once there is memory for the manifests of all of them. Requests that wait for that memory have none of
//! the files in memory.

use std::collections::HashMap;
use std::sync::LazyLock;

use domain::Digest;
use parking_lot::Mutex;
use store::{Tx, run_blocking_in_place};

use super::RenderWait;
use super::memory::{ManifestsMemory, MemoryNeed, estimate_memory};
use crate::{Error, Hub};

/// Most files whose needs are known without reading them, some hundred bytes for each.
const MAX_KNOWN: usize = 10_000;

/// What the manifests of stored files need, by the digest of the files: the content of a digest does not change.
static NEEDS: LazyLock<Mutex<HashMap<Digest, MemoryNeed>>> = LazyLock::new(Mutex::default);

/// Stored files with the memory for their manifests.
pub(super) struct StoredFiles {
    /// The JSON of the files, in the order of the digests.
    pub texts: Vec<Vec<u8>>,
    /// What is reserved for the manifests.
    pub memory: ManifestsMemory,
}

impl Hub {
    /// Loads the files with these digests, after memory for their manifests, and for another need, is reserved. Files of which
    /// that is not known are read once before, one after the other.
    ///
    /// # Errors
    /// Others use the memory for longer than a request waits, or files are missing.
    pub(super) async fn load_stored_files(
        &self,
        digests: &[Digest],
        other: MemoryNeed,
        wait: RenderWait,
    ) -> Result<StoredFiles, Error> {
        let mut needed = other;
        let mut tx = self.read().await?;
        for digest in digests {
            needed = needed.and(estimate_stored(&mut tx, digest).await?);
        }
        // No connection of the database waits for memory.
        drop(tx);
        let memory = ManifestsMemory::reserve(needed.bytes(), wait).await?;
        let mut tx = self.read().await?;
        let mut texts = Vec::with_capacity(digests.len());
        for digest in digests {
            texts.push(load_text(&mut tx, digest).await?);
        }
        Ok(StoredFiles { texts, memory })
    }
}

/// What manifests of the files with this digest need at most.
async fn estimate_stored(tx: &mut Tx, digest: &Digest) -> Result<MemoryNeed, Error> {
    let known = NEEDS.lock().get(digest).copied();
    if let Some(needed) = known {
        return Ok(needed);
    }
    let text = load_text(tx, digest).await?;
    Ok(estimate_and_record(digest, &text))
}

/// Records what manifests of the files with this digest and text need at most. Who has just stored files calls it, so that they are not read
/// for that.
pub(crate) fn record_need(digest: &Digest, text: &[u8]) {
    estimate_and_record(digest, text);
}

fn estimate_and_record(digest: &Digest, text: &[u8]) -> MemoryNeed {
    let needed = run_blocking_in_place(|| estimate_memory([text].into_iter()));
    let mut needs = NEEDS.lock();
    if needs.len() >= MAX_KNOWN {
        needs.clear();
    }
    needs.insert(digest.clone(), needed);
    needed
}

async fn load_text(tx: &mut Tx, digest: &Digest) -> Result<Vec<u8>, Error> {
    let missing = || store::Error::MissingRow { table: "artifact", id: digest.to_string() };
    Ok(store::artifact::get(tx, digest).await?.ok_or_else(missing)?)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use domain::generated_values::GeneratedFields;
    use domain::remote::{GitContent, PinnedCommit};
    use source::client_shares::MANIFESTS_OF_USERS;
    use sqlx::{Connection as _, SqliteConnection};
    use store::chart::ChartRendering;

    use super::*;
    use crate::chart::store_rendering;
    use crate::{Clock, HubConfig, run_for_requester};

    #[tokio::test]
    async fn p19_stored_files_are_loaded_only_when_there_is_memory_for_their_manifests() {
        let _alone = crate::render::MEMORY_TESTS.lock().await;
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database.clone(), Clock::system())).await.unwrap();
        let text = br#"[{"name":"stored-files.yaml","text":"a: 1\n"}]"#;
        let digest = Digest::compute(text);
        let mut tx = hub.write().await.unwrap();
        store::artifact::put(&mut tx, &digest, text, hub.clock().now()).await.unwrap();
        tx.commit().await.unwrap();
        let in_use = MANIFESTS_OF_USERS.reserve("user bertha".to_owned(), u64::MAX).await.unwrap();
        let (server, digests) = (hub.clone(), vec![digest.clone()]);
        let load = async move {
            server.load_stored_files(&digests, MemoryNeed::default(), RenderWait::Request).await
        };
        let loading = tokio::spawn(run_for_requester("bertha".to_owned(), load));
        while !NEEDS.lock().contains_key(&digest) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        // It waits for memory. What it had loaded before would be its result.
        let mut connection = SqliteConnection::connect(&database).await.unwrap();
        sqlx::query("DELETE FROM artifact").execute(&mut connection).await.unwrap();
        drop(in_use);
        let missing = loading.await.unwrap().err().unwrap();
        assert!(missing.to_string().contains("artifact"), "{missing}");
        // What is known is reserved without reading the files.
        let mut tx = hub.read().await.unwrap();
        let needed = estimate_stored(&mut tx, &digest).await.unwrap();
        assert_eq!(needed, estimate_memory([text.as_slice()].into_iter()));
    }

    #[tokio::test]
    async fn what_was_just_rendered_or_fetched_is_not_read_to_estimate_what_it_needs() {
        let folder = tempfile::tempdir().unwrap();
        let database = format!("sqlite://{}", folder.path().join("flotilla.db").display());
        let hub = Hub::open(HubConfig::new(database, Clock::system())).await.unwrap();
        let is_known = |text: &[u8]| NEEDS.lock().contains_key(&Digest::compute(text));
        let rendered = br#"[{"name":"just-rendered.yaml","text":"a: 1\n"}]"#.as_slice();
        let rendering = ChartRendering {
            inputs: Digest::compute(b"inputs of what was just rendered"),
            chart: Digest::compute(b"chart"),
            files: Digest::compute(rendered),
            helm_version: "v4.2.4".to_owned(),
            findings: Vec::new(),
            generated: GeneratedFields::default(),
        };
        assert!(!is_known(rendered));
        store_rendering(&hub, &rendering, rendered).await.unwrap();
        assert!(is_known(rendered));
        let fetch = async |content: GitContent, text: &[u8]| {
            let pinned = PinnedCommit {
                commit: "a".repeat(40),
                tree: "b".repeat(40),
                digest: Digest::compute(text),
                content,
                files: 1,
                author: String::new(),
                subject: String::new(),
                committed_at: hub.clock().now(),
            };
            hub.store_git_snapshot("https://git.test/deploy.git", "", pinned, text).await.unwrap();
        };
        let fetched = br#"[{"name":"just-fetched.yaml","text":"a: 1\n"}]"#.as_slice();
        fetch(GitContent::Manifests, fetched).await;
        assert!(is_known(fetched));
        // An archive has no manifests; they are rendered from it.
        let archive = b"the archive of a chart that was just fetched".as_slice();
        fetch(GitContent::Chart, archive).await;
        assert!(!is_known(archive));
    }
}
