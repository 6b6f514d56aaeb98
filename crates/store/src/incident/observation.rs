//! The releases of a workload that incidents depend on: those that fail or drift, and those on tracked clusters.

use std::collections::{BTreeMap, BTreeSet};

use domain::release::{Release, ReleaseState};
use domain::report::ResourceStatus;
use domain::{ClusterId, ReleaseId, Timestamp, WorkloadId};

use crate::decode::{decode_readable_rows, decode_rows};
use crate::release::row::{read_release, select_releases, state_rank};
use crate::sql::{StoredRow, sql};
use crate::{Error, Tx};

/// Rows read at once: objects of a release can be large.
const CHUNK: usize = 100;

/// A release with the name of its cluster and its objects, as they were last reported.
#[derive(Debug, Clone)]
pub struct FailingRelease {
    /// The release; `None` if its row can't be read, which says nothing about it.
    pub release: Option<Release>,
    /// Name of the cluster.
    pub cluster_name: String,
    /// Its objects, if it fails or drifts.
    pub resources: Vec<ResourceStatus>,
}

/// The releases of a workload that fail or drift, and those on these clusters. They are not locked: a change that is committed later is
/// a mark of its own. An unreadable row is there without its release.
pub async fn list_failing_releases(
    tx: &mut Tx,
    workload: WorkloadId,
    tracked: &BTreeSet<ClusterId>,
) -> Result<BTreeMap<ClusterId, FailingRelease>, Error> {
    // Drift is the lowest of the ranks for which an incident may open.
    let failing = sql("SELECT id, cluster_id FROM release WHERE workload_id = $1 AND state_rank >= $2")
        .bind_text(workload)
        .bind(state_rank(ReleaseState::Drifted))
        .fetch_all(tx)
        .await?;
    let mut ids = read_ids(&failing)?;
    let tracked: Vec<&ClusterId> = tracked.iter().collect();
    for some in tracked.chunks(500) {
        let statement = sql("SELECT id, cluster_id FROM release WHERE workload_id = $1 AND cluster_id IN ");
        let rows = statement.bind_text(workload).push_list(some).fetch_all(tx).await?;
        ids.extend(read_ids(&rows)?);
    }
    let mut found: BTreeMap<ClusterId, FailingRelease> = ids
        .values()
        .map(|cluster| {
            (*cluster, FailingRelease { release: None, cluster_name: String::new(), resources: Vec::new() })
        })
        .collect();
    let ids: Vec<ReleaseId> = ids.into_keys().collect();
    for some in ids.chunks(CHUNK) {
        let statement =
            select_releases().push(", r.cluster_name FROM release r WHERE r.id IN ").push_list(some);
        let rows = statement.fetch_all(tx).await?;
        let read =
            decode_readable_rows(&rows, "release", |row| Ok((read_release(row)?, row.text("cluster_name")?)));
        let mut resources = list_resources(tx, &read).await?;
        for (release, cluster_name) in read {
            let resources = resources.remove(&release.id()).unwrap_or_default();
            let cluster = release.cluster();
            found.insert(cluster, FailingRelease { release: Some(release), cluster_name, resources });
        }
    }
    Ok(found)
}

/// The clusters on which all objects of a workload that drift are snoozed, with the end of the first of these snoozes. Drift that the inbox
/// does not list is not snoozed.
pub async fn list_snoozed_drift(
    tx: &mut Tx,
    workload: WorkloadId,
    now: Timestamp,
) -> Result<BTreeMap<ClusterId, Timestamp>, Error> {
    let rows = sql("SELECT r.cluster_id, MIN(s.until_at) AS until_at FROM release r JOIN drift_item d ON d.release_id = r.id \
                    LEFT JOIN drift_snooze s ON s.release_id = d.release_id AND s.object_key = d.object_key \
                    AND s.digest = d.digest AND s.until_at > $1 WHERE r.workload_id = $2 AND r.state_rank = $3 \
                    GROUP BY r.cluster_id HAVING COUNT(s.until_at) = COUNT(*)")
    .bind(now.millis())
    .bind_text(workload)
    .bind(state_rank(ReleaseState::Drifted))
    .fetch_all(tx)
    .await?;
    let read =
        decode_rows(&rows, "drift_snooze", |row| Ok((row.parse("cluster_id")?, row.timestamp("until_at")?)))?;
    Ok(read.into_iter().collect())
}

fn read_ids(rows: &[StoredRow]) -> Result<BTreeMap<ReleaseId, ClusterId>, Error> {
    let read = decode_rows(rows, "release", |row| Ok((row.parse("id")?, row.parse("cluster_id")?)))?;
    Ok(read.into_iter().collect())
}

/// The objects of those that fail or drift.
async fn list_resources(
    tx: &mut Tx,
    releases: &[(Release, String)],
) -> Result<BTreeMap<ReleaseId, Vec<ResourceStatus>>, Error> {
    let failing = releases.iter().filter(|(release, _)| release.state().may_open_incident());
    let statement = sql("SELECT release_id, resources FROM release_resources WHERE release_id IN ");
    let rows = statement.push_list(failing.map(|(release, _)| release.id())).fetch_all(tx).await?;
    let read = decode_readable_rows(&rows, "release_resources", |row| {
        Ok((row.parse("release_id")?, row.json("resources")?))
    });
    Ok(read.into_iter().collect())
}
