//! Clusters on which users retain a workload although they no longer match, until its next publish (E-6).
//!
//! This is intent, so it has rows of its own: a placement decision, which shows it, can be deleted and computed again.

use std::collections::BTreeMap;

use domain::{ClusterId, Timestamp, WorkloadId};

use crate::decode::decode_rows;
use crate::sql::sql;
use crate::{Error, Tx};

/// A cluster on which a user retains a workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetainedCluster {
    /// The workload.
    pub workload: WorkloadId,
    /// The cluster.
    pub cluster: ClusterId,
    /// The published revision at that time; the next publish supersedes it.
    pub revision: u32,
    /// The user.
    pub retained_by: String,
    /// When.
    pub retained_at: Timestamp,
}

/// The users who retain a workload on clusters that no longer match, by cluster.
pub type RetainedClusters = BTreeMap<ClusterId, String>;

/// Adds a retained cluster, replacing one of an earlier revision.
pub async fn insert(tx: &mut Tx, retained: &RetainedCluster) -> Result<(), Error> {
    sql("INSERT INTO retained_cluster (workload_id, cluster_id, revision, retained_by, retained_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (workload_id, cluster_id) DO UPDATE SET \
         revision = excluded.revision, retained_by = excluded.retained_by, retained_at = excluded.retained_at")
    .bind_text(retained.workload)
    .bind_text(retained.cluster)
    .bind(i64::from(retained.revision))
    .bind_text(&retained.retained_by)
    .bind(retained.retained_at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// The clusters on which a workload with this published revision is retained.
pub async fn list(tx: &mut Tx, workload: WorkloadId, revision: u32) -> Result<RetainedClusters, Error> {
    let rows =
        sql("SELECT cluster_id, retained_by FROM retained_cluster WHERE workload_id = $1 AND revision = $2")
            .bind_text(workload)
            .bind(i64::from(revision))
            .fetch_all(tx)
            .await?;
    let retained = decode_rows(&rows, "retained_cluster", |row| {
        Ok((row.parse::<ClusterId>("cluster_id")?, row.text("retained_by")?))
    })?;
    Ok(retained.into_iter().collect())
}

/// Deletes the retained clusters of a workload, at its next publish.
///
/// A deletion of a cluster deletes these rows too, when it has locked the cluster. So the heartbeats of the clusters are locked before, which
/// that deletion locks first (`docs/consistency.md`): a publish locks clusters after these rows.
pub async fn delete_by_workload(tx: &mut Tx, workload: WorkloadId) -> Result<(), Error> {
    if tx.is_postgres() {
        let heartbeats = sql("SELECT cluster_id FROM cluster_heartbeat WHERE cluster_id IN \
                              (SELECT cluster_id FROM retained_cluster WHERE workload_id = $1) ORDER BY cluster_id");
        heartbeats.bind_text(workload).push_locking_clause(tx).fetch_all(tx).await?;
    }
    let delete = sql("DELETE FROM retained_cluster WHERE workload_id = $1");
    delete.bind_text(workload).execute(tx).await.map(drop)
}
