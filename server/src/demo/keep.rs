//! The demo's clusters on disk: written when something changed, so that a restart finds them as they were.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kubesim::Cluster;
use serde_json::Value;

/// How often a cluster is looked at.
const EVERY: Duration = Duration::from_secs(3);

/// Keeps one cluster until dropped.
pub async fn keep(folder: PathBuf, cluster: Cluster) {
    let mut kept = 0;
    loop {
        tokio::time::sleep(EVERY).await;
        let version = cluster.resource_version();
        if version != kept {
            write(&folder, &cluster);
            kept = version;
        }
    }
}

/// Keeps all clusters now.
pub fn keep_all<'a>(folder: &Path, clusters: impl Iterator<Item = &'a Cluster>) {
    clusters.for_each(|cluster| write(folder, cluster));
}

/// What was kept of a cluster, if it can be read.
pub fn kept(folder: &Path, name: &str) -> Option<Value> {
    let bytes = std::fs::read(file(folder, name)).ok()?;
    match serde_json::from_slice(&bytes) {
        Ok(snapshot) => Some(snapshot),
        Err(error) => {
            tracing::warn!(cluster = name, "what was kept can't be read, it starts empty: {error}");
            None
        }
    }
}

/// Beside it, then in its place: a crash leaves the old one or the new one.
fn write(folder: &Path, cluster: &Cluster) {
    let file = file(folder, cluster.name());
    let beside = file.with_extension("new");
    let written = std::fs::write(&beside, cluster.snapshot().to_string())
        .and_then(|()| std::fs::rename(&beside, &file));
    if let Err(error) = written {
        tracing::warn!(cluster = cluster.name(), "can't be kept: {error}");
    }
}

fn file(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.json"))
}
