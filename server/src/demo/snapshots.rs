//! Snapshots of the demo's clusters on disk, so that a restart restores them. They contain Secrets, so they are encrypted like the
//! database.

use std::path::PathBuf;
use std::time::Duration;

use hub::Hub;
use kubesim::SimCluster;
use serde_json::Value;

/// Interval between two checks for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(3);

/// The folder with the snapshots.
#[derive(Clone)]
pub struct SnapshotFolder {
    path: PathBuf,
    hub: Hub,
}

impl SnapshotFolder {
    /// The folder with this path, created if it does not exist, encrypted with the keys of the hub.
    ///
    /// # Errors
    /// The folder can't be created.
    pub fn open(path: PathBuf, hub: Hub) -> std::io::Result<Self> {
        std::fs::create_dir_all(&path)?;
        Ok(Self { path, hub })
    }

    /// Writes a snapshot whenever the cluster has changed, until dropped.
    pub async fn save_on_change(self, cluster: SimCluster) {
        let mut saved = 0;
        loop {
            tokio::time::sleep(CHECK_INTERVAL).await;
            let version = cluster.resource_version();
            if version != saved {
                self.write(&cluster);
                saved = version;
            }
        }
    }

    /// Writes a snapshot of every cluster.
    pub fn save_all<'a>(&self, clusters: impl Iterator<Item = &'a SimCluster>) {
        clusters.for_each(|cluster| self.write(cluster));
    }

    /// Reads a cluster's snapshot; `None` if it is missing or not valid.
    pub fn load(&self, name: &str) -> Option<Value> {
        let bytes = std::fs::read(self.snapshot_path(name)).ok()?;
        let content = self.hub.open_file(name, bytes);
        match content.and_then(|content| serde_json::from_slice(&content).map_err(|error| error.to_string()))
        {
            Ok(snapshot) => Some(snapshot),
            Err(error) => {
                tracing::warn!(
                    cluster = name,
                    "can't read the snapshot; the simulated cluster starts empty: {error}"
                );
                None
            }
        }
    }

    /// Writes a temporary file and renames it, so that a crash leaves the old or the new snapshot.
    fn write(&self, cluster: &SimCluster) {
        let name = cluster.name();
        let file = self.snapshot_path(name);
        let temporary = file.with_extension("new");
        let content = self.hub.seal_file(name, cluster.snapshot().to_string().as_bytes());
        let written = std::fs::write(&temporary, content).and_then(|()| std::fs::rename(&temporary, &file));
        if let Err(error) = written {
            tracing::warn!(cluster = name, "can't write the snapshot: {error}");
        }
    }

    fn snapshot_path(&self, name: &str) -> PathBuf {
        self.path.join(format!("{name}.json"))
    }
}
