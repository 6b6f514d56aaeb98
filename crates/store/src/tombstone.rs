//! Tombstones of releases that were given up without their cluster's confirmation.

use domain::release::Tombstone;
use domain::report::DesiredRelease;
use domain::{ClusterId, ReleaseId, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_row, decode_rows};
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

const SELECT: &str = "SELECT t.release_id, t.workload_id, t.workload_name, t.cluster_id, t.cluster_name, t.generation, \
     t.deletion, t.policies, t.created_by, t.created_at FROM release_tombstone t WHERE ";

/// Adds a tombstone, replacing an older one of the same release.
pub async fn insert(tx: &mut Tx, tombstone: &Tombstone) -> Result<(), Error> {
    sql("INSERT INTO release_tombstone (release_id, workload_id, workload_name, cluster_id, cluster_name, generation, \
         deletion, policies, created_by, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) \
         ON CONFLICT (release_id) DO UPDATE SET generation = excluded.generation, deletion = excluded.deletion, \
         policies = excluded.policies, created_by = excluded.created_by, created_at = excluded.created_at")
    .bind_text(tombstone.release)
    .bind_text(tombstone.workload)
    .bind_text(&tombstone.workload_name)
    .bind_text(tombstone.cluster)
    .bind_text(&tombstone.cluster_name)
    .bind(tombstone.generation)
    .bind(to_json(&tombstone.deletion)?)
    .bind(to_json(&tombstone.policies)?)
    .bind_text(&tombstone.created_by)
    .bind(tombstone.created_at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// The tombstone of a release, locked until the transaction ends.
pub async fn get(tx: &mut Tx, release: ReleaseId) -> Result<Option<Tombstone>, Error> {
    let row = sql(SELECT).push("t.release_id = $1").bind_text(release).push_locking_clause(tx);
    decode_row(row.fetch_optional(tx).await?, "release_tombstone", read)
}

/// The removals that a cluster owes, by release. A release that is desired again has none.
pub async fn list_desired_by_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<Vec<DesiredRelease>, Error> {
    let rows = sql(SELECT)
        .push(
            "t.cluster_id = $1 AND NOT EXISTS (SELECT 1 FROM release r WHERE r.id = t.release_id \
             AND r.in_desired_state = 1) ORDER BY t.release_id",
        )
        .bind_text(cluster)
        .fetch_all(tx)
        .await?;
    Ok(decode_rows(&rows, "release_tombstone", read)?.iter().map(Tombstone::desired_release).collect())
}

/// The removals of a workload that deleted clusters owe, by name of the cluster.
pub async fn list_of_deleted_clusters(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<Tombstone>, Error> {
    let rows = sql(SELECT)
        .push(
            "t.workload_id = $1 AND NOT EXISTS (SELECT 1 FROM cluster c WHERE c.id = t.cluster_id) \
             ORDER BY t.cluster_name, t.release_id",
        )
        .bind_text(workload)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, "release_tombstone", read)
}

/// Assigns the tombstones of these releases to the cluster that reported their records, if the cluster that they name was
/// deleted: it joined again. Returns how many.
pub async fn assign(tx: &mut Tx, cluster: ClusterId, releases: &[ReleaseId]) -> Result<u64, Error> {
    let mut assigned = 0;
    for releases in releases.chunks(500) {
        assigned += sql("UPDATE release_tombstone SET cluster_id = $1 WHERE cluster_id <> $1 \
             AND cluster_id NOT IN (SELECT id FROM cluster) AND release_id IN ")
        .bind_text(cluster)
        .push_list(releases)
        .execute(tx)
        .await?;
    }
    Ok(assigned)
}

/// Deletes the tombstone of a release; returns whether there was one.
pub async fn delete(tx: &mut Tx, release: ReleaseId) -> Result<bool, Error> {
    let delete = sql("DELETE FROM release_tombstone WHERE release_id = $1").bind_text(release);
    Ok(delete.execute(tx).await? == 1)
}

fn read(row: &RowReader<'_>) -> Result<Tombstone, DecodeError> {
    Ok(Tombstone {
        release: row.parse("release_id")?,
        workload: row.parse("workload_id")?,
        workload_name: row.text("workload_name")?,
        cluster: row.parse("cluster_id")?,
        cluster_name: row.text("cluster_name")?,
        generation: row.int("generation")?,
        deletion: row.json("deletion")?,
        policies: row.json("policies")?,
        created_by: row.text("created_by")?,
        created_at: row.timestamp("created_at")?,
    })
}
