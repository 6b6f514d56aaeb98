//! Suspensions of workloads, of workloads on one cluster, and of clusters (S2-11).
//!
//! This is intent, so it has rows of its own: the stage of a release, which shows it, follows from them. What a cluster receives is decided by
//! these rows and not by the stage, so that a release that is placed while its cluster is being suspended is not delivered.

use std::collections::{BTreeMap, HashMap, HashSet};

use domain::suspension::{Suspension, SuspensionScope};
use domain::{ClusterId, ReleaseId, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_row, decode_rows};
use crate::sql::sql;
use crate::{Error, Tx};

const TABLE: &str = "suspension";
const SELECT: &str = "SELECT s.scope, s.workload_id, s.cluster_id, s.reason, s.suspended_by, s.suspended_at FROM suspension s ";

/// What a suspension is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuspensionTarget {
    /// A workload on all clusters.
    Workload(WorkloadId),
    /// A workload on one cluster.
    Release(WorkloadId, ClusterId),
    /// A cluster.
    Cluster(ClusterId),
}

impl SuspensionTarget {
    /// Its scope.
    pub const fn scope(self) -> SuspensionScope {
        match self {
            Self::Workload(_) => SuspensionScope::Workload,
            Self::Release(..) => SuspensionScope::Release,
            Self::Cluster(_) => SuspensionScope::Cluster,
        }
    }

    const fn workload(self) -> Option<WorkloadId> {
        match self {
            Self::Workload(workload) | Self::Release(workload, _) => Some(workload),
            Self::Cluster(_) => None,
        }
    }

    const fn cluster(self) -> Option<ClusterId> {
        match self {
            Self::Cluster(cluster) | Self::Release(_, cluster) => Some(cluster),
            Self::Workload(_) => None,
        }
    }

    /// The key of its row.
    fn key(self) -> String {
        let part = |id: Option<String>| id.unwrap_or_else(|| "*".to_owned());
        let (workload, cluster) = (self.workload(), self.cluster());
        format!("{}/{}", part(workload.map(|id| id.to_string())), part(cluster.map(|id| id.to_string())))
    }
}

/// Adds a suspension, replacing an earlier one of the same target.
pub async fn put(tx: &mut Tx, target: SuspensionTarget, suspension: &Suspension) -> Result<(), Error> {
    sql("INSERT INTO suspension (scope, workload_id, cluster_id, reason, suspended_by, suspended_at) \
         VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (scope) DO UPDATE SET reason = excluded.reason, \
         suspended_by = excluded.suspended_by, suspended_at = excluded.suspended_at")
    .bind(target.key())
    .bind_opt_text(target.workload())
    .bind_opt_text(target.cluster())
    .bind_text(&suspension.reason)
    .bind_text(&suspension.by)
    .bind(suspension.since.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// Deletes a suspension; returns whether there was one.
pub async fn delete(tx: &mut Tx, target: SuspensionTarget) -> Result<bool, Error> {
    let delete = sql("DELETE FROM suspension WHERE scope = $1").bind(target.key());
    Ok(delete.execute(tx).await? == 1)
}

/// The suspension of exactly this target.
pub async fn get(tx: &mut Tx, target: SuspensionTarget) -> Result<Option<Suspension>, Error> {
    let row = sql(SELECT).push("WHERE s.scope = $1").bind(target.key()).fetch_optional(tx).await?;
    Ok(decode_row(row, TABLE, read)?.map(|(_, suspension)| suspension))
}

/// The suspensions that concern a workload on some clusters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkloadSuspensions {
    /// That of the workload itself.
    pub whole: Option<Suspension>,
    /// Those of the workload on one cluster.
    pub releases: BTreeMap<ClusterId, Suspension>,
    /// Those of clusters.
    pub clusters: BTreeMap<ClusterId, Suspension>,
}

impl WorkloadSuspensions {
    /// All that suspend the workload on this cluster: of the workload, of the release, of the cluster.
    pub fn list_for(&self, cluster: ClusterId) -> Vec<Suspension> {
        let parts = [self.whole.as_ref(), self.releases.get(&cluster), self.clusters.get(&cluster)];
        parts.into_iter().flatten().cloned().collect()
    }
}

/// The suspensions of a workload, and those of all clusters.
pub async fn list_by_workload(tx: &mut Tx, workload: WorkloadId) -> Result<WorkloadSuspensions, Error> {
    let rows = sql(SELECT)
        .push("WHERE s.workload_id = $1 OR s.workload_id IS NULL ORDER BY s.scope")
        .bind_text(workload)
        .fetch_all(tx)
        .await?;
    let mut found = WorkloadSuspensions::default();
    for (target, suspension) in decode_rows(&rows, TABLE, read)? {
        match target {
            SuspensionTarget::Workload(_) => found.whole = Some(suspension),
            SuspensionTarget::Release(_, cluster) => drop(found.releases.insert(cluster, suspension)),
            SuspensionTarget::Cluster(cluster) => drop(found.clusters.insert(cluster, suspension)),
        }
    }
    Ok(found)
}

/// The suspensions that concern the workloads on a cluster: those of the cluster, of the workloads and of its releases.
pub async fn list_by_cluster(
    tx: &mut Tx,
    cluster: ClusterId,
) -> Result<Vec<(SuspensionTarget, Suspension)>, Error> {
    let rows = sql(SELECT)
        .push("WHERE s.cluster_id = $1 OR s.cluster_id IS NULL ORDER BY s.scope")
        .bind_text(cluster)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, TABLE, read)
}

/// The suspensions of these clusters.
pub async fn list_of_clusters(
    tx: &mut Tx,
    clusters: &[ClusterId],
) -> Result<HashMap<ClusterId, Suspension>, Error> {
    let mut found = HashMap::new();
    for some in clusters.chunks(500) {
        let select = sql(SELECT).push("WHERE s.workload_id IS NULL AND s.cluster_id IN ").push_list(some);
        for (target, suspension) in decode_rows(&select.fetch_all(tx).await?, TABLE, read)? {
            if let SuspensionTarget::Cluster(cluster) = target {
                found.insert(cluster, suspension);
            }
        }
    }
    Ok(found)
}

/// The suspensions of these workloads as wholes.
pub async fn list_of_workloads(
    tx: &mut Tx,
    workloads: &[WorkloadId],
) -> Result<HashMap<WorkloadId, Suspension>, Error> {
    let mut found = HashMap::new();
    for some in workloads.chunks(500) {
        let select = sql(SELECT).push("WHERE s.cluster_id IS NULL AND s.workload_id IN ").push_list(some);
        for (target, suspension) in decode_rows(&select.fetch_all(tx).await?, TABLE, read)? {
            if let SuspensionTarget::Workload(workload) = target {
                found.insert(workload, suspension);
            }
        }
    }
    Ok(found)
}

/// Which releases of a cluster are suspended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuspendedReleases {
    /// All: the cluster is suspended.
    All,
    /// These.
    Some(HashSet<ReleaseId>),
}

impl SuspendedReleases {
    /// Whether this release is among them.
    pub fn contains(&self, release: ReleaseId) -> bool {
        match self {
            Self::All => true,
            Self::Some(some) => some.contains(&release),
        }
    }
}

/// The suspended releases of a cluster. Read with every desired state, so it reads no reasons.
pub async fn find_suspended_releases(tx: &mut Tx, cluster: ClusterId) -> Result<SuspendedReleases, Error> {
    let whole = sql("SELECT COUNT(*) FROM suspension WHERE cluster_id = $1 AND workload_id IS NULL");
    if whole.bind_text(cluster).fetch_number(tx).await? > 0 {
        return Ok(SuspendedReleases::All);
    }
    let rows = sql("SELECT DISTINCT r.id FROM suspension s JOIN release r ON r.workload_id = s.workload_id \
                    WHERE r.cluster_id = $1 AND (s.cluster_id IS NULL OR s.cluster_id = r.cluster_id)")
    .bind_text(cluster)
    .fetch_all(tx)
    .await?;
    let ids = decode_rows(&rows, "release", |row| row.parse::<ReleaseId>("id"))?;
    Ok(SuspendedReleases::Some(ids.into_iter().collect()))
}

fn read(row: &RowReader<'_>) -> Result<(SuspensionTarget, Suspension), DecodeError> {
    let target = match (row.opt_parse("workload_id")?, row.opt_parse("cluster_id")?) {
        (Some(workload), Some(cluster)) => SuspensionTarget::Release(workload, cluster),
        (Some(workload), None) => SuspensionTarget::Workload(workload),
        (None, Some(cluster)) => SuspensionTarget::Cluster(cluster),
        (None, None) => return Err("scope: it suspends nothing".to_owned()),
    };
    let suspension = Suspension {
        scope: target.scope(),
        by: row.text("suspended_by")?,
        since: row.timestamp("suspended_at")?,
        reason: row.text("reason")?,
    };
    Ok((target, suspension))
}
