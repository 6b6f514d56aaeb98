//! Releases: one workload on one cluster, in narrow typed columns, with its derived state.
//!
//! A release is read, changed by the functions of `domain`, and written as a whole. Read it in the transaction that
//! writes it: PostgreSQL then locks the row until the transaction ends; SQLite has only one writer.

use std::collections::{BTreeMap, HashSet};

use domain::cluster::Connectivity;
use domain::release::Release;
use domain::report::{DesiredRelease, ResourceStatus};
use domain::{ClusterId, ReleaseId, WorkloadId};

use crate::decode::{decode_readable_rows, decode_row, decode_rows};
use crate::sql::{StoredRow, sql, to_json};
use crate::{Error, Tx};

mod connectivity;
mod counts;
mod fleet;
mod list;
pub(crate) mod row;
mod save;
mod scope;

pub use connectivity::set_connectivity_by_cluster;
pub use counts::{
    all as counts_all, by_cluster as counts_by_cluster, by_workload as counts_by_workload,
    last_known_by_cluster as last_known_counts_by_cluster,
};
pub(crate) use counts::{first_deadlines, flush as flush_counts};
pub use fleet::{MatrixCell, list_attention, list_cells, list_worst_messages};
pub(crate) use list::push_state_filter;
pub use list::{list_by_cluster, list_by_workload};
pub use save::{insert, insert_many, update, update_many};
pub use scope::{count_clusters, count_objects};

use row::{read_release, select_releases};

/// The release with this id.
pub async fn get(tx: &mut Tx, id: ReleaseId) -> Result<Option<Release>, Error> {
    let row = select_releases()
        .push(" FROM release r WHERE r.id = $1")
        .bind_text(id)
        .push_locking_clause(tx)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "release", read_release)
}

/// Those of these releases that exist, by id.
pub async fn get_many(tx: &mut Tx, ids: &[ReleaseId]) -> Result<Vec<Release>, Error> {
    let rows = fetch_rows(tx, ids).await?;
    decode_rows(&rows, "release", read_release)
}

/// The same without those that can't be read, which are logged.
pub async fn get_readable(tx: &mut Tx, ids: &[ReleaseId]) -> Result<Vec<Release>, Error> {
    let rows = fetch_rows(tx, ids).await?;
    Ok(decode_readable_rows(&rows, "release", read_release))
}

async fn fetch_rows(tx: &mut Tx, ids: &[ReleaseId]) -> Result<Vec<StoredRow>, Error> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let mut rows = Vec::with_capacity(ids.len());
    for ids in ids.chunks(500) {
        let some =
            select_releases().push(" FROM release r WHERE r.id IN ").push_list(ids).push(" ORDER BY r.id");
        rows.extend(some.push_locking_clause(tx).fetch_all(tx).await?);
    }
    Ok(rows)
}

/// Those of these releases that are of this cluster, or that it still has to remove.
pub async fn filter_owned(
    tx: &mut Tx,
    cluster: ClusterId,
    ids: &[ReleaseId],
) -> Result<HashSet<ReleaseId>, Error> {
    let mut owned = HashSet::new();
    for ids in ids.chunks(500) {
        for select in [
            "SELECT id FROM release WHERE cluster_id = $1 AND id IN ",
            "SELECT release_id AS id FROM release_tombstone WHERE cluster_id = $1 AND release_id IN ",
        ] {
            let rows = sql(select).bind_text(cluster).push_list(ids).fetch_all(tx).await?;
            owned.extend(decode_rows(&rows, "release", |row| row.parse::<ReleaseId>("id"))?);
        }
    }
    Ok(owned)
}

/// The release of this workload on this cluster.
pub async fn get_by_workload_and_cluster(
    tx: &mut Tx,
    workload: WorkloadId,
    cluster: ClusterId,
) -> Result<Option<Release>, Error> {
    let row = select_releases()
        .push(" FROM release r WHERE r.workload_id = $1 AND r.cluster_id = $2")
        .bind_text(workload)
        .bind_text(cluster)
        .push_locking_clause(tx)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "release", read_release)
}

/// Every release of a workload, by id.
pub async fn list_all_by_workload(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<Release>, Error> {
    let some =
        select_releases().push(" FROM release r WHERE r.workload_id = $1 ORDER BY r.id").bind_text(workload);
    decode_rows(&some.push_locking_clause(tx).fetch_all(tx).await?, "release", read_release)
}

/// The same without a lock, for what is only shown: it may change before the transaction ends.
pub async fn read_all_by_workload(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<Release>, Error> {
    let some =
        select_releases().push(" FROM release r WHERE r.workload_id = $1 ORDER BY r.id").bind_text(workload);
    decode_rows(&some.fetch_all(tx).await?, "release", read_release)
}

/// Locks every release of these workloads until the transaction ends. In the order of ids, as in every other transaction: call it
/// before the releases of more than one of them are read or written.
pub async fn lock_by_workloads(tx: &mut Tx, workloads: &[WorkloadId]) -> Result<(), Error> {
    if !tx.is_postgres() {
        return Ok(());
    }
    let mut ids = Vec::new();
    for some in workloads.chunks(500) {
        let rows = sql("SELECT id FROM release WHERE workload_id IN ").push_list(some).fetch_all(tx).await?;
        ids.extend(decode_rows(&rows, "release", |row| row.parse::<ReleaseId>("id"))?);
    }
    lock(tx, ids).await
}

/// The readable releases of these workloads on these clusters, without a lock: they may change before the transaction ends.
pub async fn read_by_workloads_and_clusters(
    tx: &mut Tx,
    workloads: &[WorkloadId],
    clusters: &[ClusterId],
) -> Result<Vec<Release>, Error> {
    let mut found = Vec::new();
    for some in clusters.chunks(500).filter(|_| !workloads.is_empty()) {
        let select = select_releases().push(" FROM release r WHERE r.workload_id IN ").push_list(workloads);
        let rows = select.push(" AND r.cluster_id IN ").push_list(some).fetch_all(tx).await?;
        found.extend(decode_readable_rows(&rows, "release", read_release));
    }
    Ok(found)
}

/// Locks the releases of a workload on these clusters, and these `others` of it, until the transaction ends. In the order of ids: call
/// it before they are read or written in another order.
pub async fn lock_by_workload_and_clusters(
    tx: &mut Tx,
    workload: WorkloadId,
    clusters: &[ClusterId],
    others: &[ReleaseId],
) -> Result<(), Error> {
    if !tx.is_postgres() {
        return Ok(());
    }
    let mut ids = others.to_vec();
    for some in clusters.chunks(500) {
        let select = sql("SELECT id FROM release WHERE workload_id = $1 AND cluster_id IN ");
        let rows = select.bind_text(workload).push_list(some).fetch_all(tx).await?;
        ids.extend(decode_rows(&rows, "release", |row| row.parse::<ReleaseId>("id"))?);
    }
    lock(tx, ids).await
}

async fn lock(tx: &mut Tx, mut ids: Vec<ReleaseId>) -> Result<(), Error> {
    ids.sort_unstable();
    ids.dedup();
    for some in ids.chunks(500) {
        let select = sql("SELECT id FROM release WHERE id IN ").push_list(some).push(" ORDER BY id");
        select.push_locking_clause(tx).fetch_all(tx).await?;
    }
    Ok(())
}

/// Every release of a cluster with the name of its workload, by id.
pub async fn list_all_by_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<Vec<(Release, String)>, Error> {
    let some =
        select_releases().push(" FROM release r WHERE r.cluster_id = $1 ORDER BY r.id").bind_text(cluster);
    let rows = some.push_locking_clause(tx).fetch_all(tx).await?;
    decode_rows(&rows, "release", |row| Ok((read_release(row)?, row.text("workload_name")?)))
}

/// The desired state of this cluster, by release. Read at every publish, so it selects only the columns it needs.
pub async fn list_desired_by_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<Vec<DesiredRelease>, Error> {
    let rows =
        sql("SELECT id, workload_name, goal, generation, sync_nonce, released_revision, released, policies \
         FROM release \
                    WHERE cluster_id = $1 AND in_desired_state = 1 ORDER BY id")
        .bind_text(cluster)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, "release", |row| {
        let desired = row::read_desired_release(row)?.into_desired_release();
        desired.ok_or_else(|| "in_desired_state: the release desires nothing".to_owned())
    })
}

/// Number of releases of a workload on clusters that are not online, without those whose last known state ends a release.
pub async fn count_unreachable(tx: &mut Tx, workload: WorkloadId) -> Result<i64, Error> {
    let count = sql("SELECT COUNT(*) FROM release WHERE workload_id = $1 AND connectivity <> $2 \
                     AND last_known_state NOT IN ")
    .bind_text(workload)
    .bind(Connectivity::Online.as_str().to_owned());
    count.push_list(row::gone_state_names()).fetch_number(tx).await
}

/// Deletes every release of a cluster, whatever its state there; returns their workloads.
pub async fn delete_by_cluster(tx: &mut Tx, cluster: ClusterId) -> Result<Vec<WorkloadId>, Error> {
    let rows = sql("DELETE FROM release WHERE cluster_id = $1 RETURNING id, workload_id, state")
        .bind_text(cluster)
        .fetch_all(tx)
        .await?;
    let deleted = decode_rows(&rows, "release", |row| {
        Ok((row.parse::<WorkloadId>("workload_id")?, row::read_state(row, "state")?))
    })?;
    for (workload, state) in &deleted {
        tx.add_count(*workload, *state, -1);
    }
    Ok(deleted.into_iter().map(|(workload, _)| workload).collect())
}

/// Stores the objects of a release as its cluster reported them, if they differ; returns whether they did.
pub async fn set_resources(tx: &mut Tx, id: ReleaseId, resources: &[ResourceStatus]) -> Result<bool, Error> {
    let changed = sql("INSERT INTO release_resources (release_id, resources) VALUES ($1, $2) \
         ON CONFLICT (release_id) DO UPDATE SET resources = excluded.resources \
         WHERE release_resources.resources <> excluded.resources")
    .bind_text(id)
    .bind(to_json(&resources)?)
    .execute(tx)
    .await?;
    Ok(changed > 0)
}

/// The objects of a release as its cluster last reported them; empty if it never did.
pub async fn get_resources(tx: &mut Tx, id: ReleaseId) -> Result<Vec<ResourceStatus>, Error> {
    let row = sql("SELECT release_id, resources FROM release_resources WHERE release_id = $1")
        .bind_text(id)
        .fetch_optional(tx)
        .await?;
    Ok(decode_row(row, "release_resources", |row| row.json("resources"))?.unwrap_or_default())
}

/// The number of drifted fields of each of these releases, as its cluster last reported them; without those whose report is missing or
/// can't be read.
pub async fn count_drifted_fields(tx: &mut Tx, ids: &[ReleaseId]) -> Result<BTreeMap<ReleaseId, u32>, Error> {
    let mut counts = BTreeMap::new();
    // The objects of one release may have megabytes: those of a page are not in memory at once.
    for &id in ids {
        let rows = sql("SELECT release_id, resources FROM release_resources WHERE release_id = $1")
            .bind_text(id)
            .fetch_all(tx)
            .await?;
        counts.extend(decode_readable_rows(&rows, "release_resources", |row| {
            let resources = row.json::<Vec<ResourceStatus>>("resources")?;
            let fields = resources.iter().map(ResourceStatus::count_drifted);
            Ok((id, fields.fold(0, u32::saturating_add)))
        }));
    }
    Ok(counts)
}
