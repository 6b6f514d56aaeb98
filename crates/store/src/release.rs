//! Releases: one workload on one cluster, in narrow typed columns, with the derived state beside them.
//!
//! A release is read, changed by the functions of the domain, and written whole. Read it in the transaction that writes
//! it: on PostgreSQL the row is then kept for that transaction, on SQLite there is only one writer anyway.

use domain::release::{Expected, Release};
use domain::report::{ResourceStatus, Want};
use domain::{ClusterId, ReleaseId, WorkloadId};

use crate::record::{all, one};
use crate::sql::{json, sql};
use crate::{Error, Tx};

mod counts;
mod fleet;
mod list;
mod reach;
pub(crate) mod row;
mod save;

pub(crate) use counts::flush as flush_counts;
pub use counts::{all as counts_all, by_cluster as counts_by_cluster, by_workload as counts_by_workload};
pub use fleet::{Cell, attention, cells};
pub(crate) use list::in_states;
pub use list::{of_cluster, of_workload};
pub use reach::reach_of_cluster;
pub use save::{insert, insert_many, update, update_many};

use row::{SELECT, read};

/// The release with this id.
pub async fn get(tx: &mut Tx, id: ReleaseId) -> Result<Option<Release>, Error> {
    let row = sql(SELECT).push(" FROM release r WHERE r.id = $1").text(id).locking(tx).row(tx).await?;
    one(row, "release", read)
}

/// Those of these releases that are there, by id.
pub async fn many(tx: &mut Tx, ids: &[ReleaseId]) -> Result<Vec<Release>, Error> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let mut found = Vec::with_capacity(ids.len());
    for ids in ids.chunks(500) {
        let some = sql(SELECT).push(" FROM release r WHERE r.id IN ").list(ids).push(" ORDER BY r.id");
        found.extend(all(&some.locking(tx).rows(tx).await?, "release", read));
    }
    Ok(found)
}

/// The release of this workload on this cluster.
pub async fn by_workload_cluster(
    tx: &mut Tx,
    workload: WorkloadId,
    cluster: ClusterId,
) -> Result<Option<Release>, Error> {
    let row = sql(SELECT)
        .push(" FROM release r WHERE r.workload_id = $1 AND r.cluster_id = $2")
        .text(workload)
        .text(cluster)
        .locking(tx)
        .row(tx)
        .await?;
    one(row, "release", read)
}

/// Every release of a workload, by id.
pub async fn all_of_workload(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<Release>, Error> {
    let some = sql(SELECT).push(" FROM release r WHERE r.workload_id = $1 ORDER BY r.id").text(workload);
    Ok(all(&some.locking(tx).rows(tx).await?, "release", read))
}

/// What is expected of this cluster, by release. Read at every publish, so it reads no more than it tells.
pub async fn wants_of_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<Vec<Want>, Error> {
    let rows =
        sql("SELECT id, workload_name, goal, generation, sync_nonce, released_revision, released, policies \
         FROM release \
                    WHERE cluster_id = $1 AND wanted = 1 ORDER BY id")
        .text(cluster)
        .rows(tx)
        .await?;
    Ok(all(&rows, "release", row::expected).into_iter().filter_map(Expected::want).collect())
}

/// How many releases of a cluster its agent has not confirmed to be gone.
pub async fn count_held(tx: &mut Tx, cluster: ClusterId) -> Result<i64, Error> {
    let count = sql("SELECT COUNT(*) FROM release WHERE cluster_id = $1 AND known NOT IN ").text(cluster);
    count.list(row::gone_words()).number(tx).await
}

/// Forgets every release on a cluster, whatever became of it there; returns their workloads.
pub async fn delete_of_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<Vec<WorkloadId>, Error> {
    let rows = sql("DELETE FROM release WHERE cluster_id = $1 RETURNING id, workload_id, state")
        .text(cluster)
        .rows(tx)
        .await?;
    let gone =
        all(&rows, "release", |row| Ok((row.parse::<WorkloadId>("workload_id")?, row::state(row, "state")?)));
    for (workload, state) in &gone {
        tx.count(*workload, *state, -1);
    }
    Ok(gone.into_iter().map(|(workload, _)| workload).collect())
}

/// Keeps what a cluster says of the objects of a release; nothing is written if it is what is there.
pub async fn set_resources(tx: &mut Tx, id: ReleaseId, resources: &[ResourceStatus]) -> Result<(), Error> {
    sql("INSERT INTO release_detail (release_id, resources) VALUES ($1, $2) \
         ON CONFLICT (release_id) DO UPDATE SET resources = excluded.resources \
         WHERE release_detail.resources <> excluded.resources")
    .text(id)
    .bind(json(&resources)?)
    .run(tx)
    .await
    .map(drop)
}

/// The objects of a release as its cluster last told; none if it never did.
pub async fn resources(tx: &mut Tx, id: ReleaseId) -> Result<Vec<ResourceStatus>, Error> {
    let row = sql("SELECT release_id, resources FROM release_detail WHERE release_id = $1")
        .text(id)
        .row(tx)
        .await?;
    Ok(one(row, "release_detail", |row| row.json("resources"))?.unwrap_or_default())
}
