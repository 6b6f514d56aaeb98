//! Pending removals: clusters that run a workload and no longer match, with the end of their notice (E-6).
//!
//! The end of a notice is a promise to users, so it has rows of its own: a placement decision, which shows it, can be
//! deleted and computed again.

use domain::placement::PendingRemoval;
use domain::{ClusterId, Timestamp, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_rows};
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

/// The pending removals of a workload by name of the cluster, each with the user who retains the published revision there.
pub async fn list(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<PendingRemoval>, Error> {
    let some = sql(SELECT).push("p.workload_id = $1 ORDER BY c.name").bind_text(workload);
    decode_rows(&some.fetch_all(tx).await?, "pending_removal", read)
}

/// The clusters with a pending removal of a workload.
pub async fn list_clusters(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<ClusterId>, Error> {
    let select = sql("SELECT cluster_id FROM pending_removal WHERE workload_id = $1").bind_text(workload);
    decode_rows(&select.fetch_all(tx).await?, "pending_removal", |row| row.parse("cluster_id"))
}

/// The pending removals from a cluster with their workloads.
pub async fn list_by_cluster(
    tx: &mut Tx,
    cluster: ClusterId,
) -> Result<Vec<(WorkloadId, PendingRemoval)>, Error> {
    let some = sql(SELECT).push("p.cluster_id = $1 ORDER BY p.workload_id").bind_text(cluster);
    decode_rows(&some.fetch_all(tx).await?, "pending_removal", |row| {
        Ok((row.parse("workload_id")?, read(row)?))
    })
}

const SELECT: &str = "SELECT p.workload_id, p.cluster_id, c.name, p.remove_after, p.requested, p.waiting_for, r.retained_by \
                      FROM pending_removal p JOIN cluster c ON c.id = p.cluster_id JOIN workload w ON w.id = p.workload_id \
                      LEFT JOIN retained_cluster r ON r.workload_id = p.workload_id AND r.cluster_id = p.cluster_id \
                      AND r.revision = w.published_revision WHERE ";

fn read(row: &RowReader<'_>) -> Result<PendingRemoval, DecodeError> {
    Ok(PendingRemoval {
        cluster: row.parse("cluster_id")?,
        name: row.text("name")?,
        remove_after: row.timestamp("remove_after")?,
        is_requested: row.flag("requested")?,
        waiting_for: row.opt_json("waiting_for")?,
        retained_by: row.get("retained_by")?,
    })
}

/// Requests the removal of a workload from a cluster that runs it: it needs no notice, if the cluster is not selected.
pub async fn request(
    tx: &mut Tx,
    workload: WorkloadId,
    cluster: ClusterId,
    at: Timestamp,
) -> Result<(), Error> {
    sql("INSERT INTO pending_removal (workload_id, cluster_id, remove_after, requested) VALUES ($1, $2, $3, 1) \
         ON CONFLICT (workload_id, cluster_id) DO UPDATE SET remove_after = excluded.remove_after, requested = 1")
    .bind_text(workload)
    .bind_text(cluster)
    .bind(at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// Replaces the pending removals of a workload, whose releases on these clusters and those before are locked: a deletion of a cluster locks
/// its releases before it deletes these rows. Users who retain it are not stored here but in `retained_cluster`.
pub async fn replace(tx: &mut Tx, workload: WorkloadId, removals: &[PendingRemoval]) -> Result<(), Error> {
    let delete = sql("DELETE FROM pending_removal WHERE workload_id = $1");
    delete.bind_text(workload).execute(tx).await?;
    for removal in removals {
        let waiting_for = removal.waiting_for.map(|wait| to_json(&wait)).transpose()?;
        sql("INSERT INTO pending_removal (workload_id, cluster_id, remove_after, requested, waiting_for) \
             VALUES ($1, $2, $3, $4, $5)")
        .bind_text(workload)
        .bind_text(removal.cluster)
        .bind(removal.remove_after.millis())
        .bind(i64::from(removal.is_requested))
        .bind(waiting_for)
        .execute(tx)
        .await?;
    }
    Ok(())
}
