//! Snapshots of the demo's clusters on disk, so that a restart restores them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kubesim::SimCluster;
use serde_json::Value;

/// Interval between two checks for changes.
const CHECK_INTERVAL: Duration = Duration::from_secs(3);

/// Writes a snapshot whenever the cluster has changed, until dropped.
pub async fn save_on_change(folder: PathBuf, cluster: SimCluster) {
    let mut saved = 0;
    loop {
        tokio::time::sleep(CHECK_INTERVAL).await;
        let version = cluster.resource_version();
        if version != saved {
            write_snapshot(&folder, &cluster);
            saved = version;
        }
    }
}

/// Writes a snapshot of every cluster.
pub fn save_all<'a>(folder: &Path, clusters: impl Iterator<Item = &'a SimCluster>) {
    clusters.for_each(|cluster| write_snapshot(folder, cluster));
}

/// Reads a cluster's snapshot; `None` if it is missing or not valid.
pub fn load_snapshot(folder: &Path, name: &str) -> Option<Value> {
    let bytes = std::fs::read(snapshot_path(folder, name)).ok()?;
    match serde_json::from_slice(&bytes) {
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
fn write_snapshot(folder: &Path, cluster: &SimCluster) {
    let file = snapshot_path(folder, cluster.name());
    let temporary = file.with_extension("new");
    let written = std::fs::write(&temporary, cluster.snapshot().to_string())
        .and_then(|()| std::fs::rename(&temporary, &file));
    if let Err(error) = written {
        tracing::warn!(cluster = cluster.name(), "can't write the snapshot: {error}");
    }
}

fn snapshot_path(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}
