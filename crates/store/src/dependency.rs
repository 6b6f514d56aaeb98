//! Dependencies between workloads: references of their specs, by name. Those of a draft and of the published revision count.

use std::collections::BTreeSet;

use domain::dependency::{AffectedDependents, DependencyGraph, KnownDependencies};
use domain::release::ReleaseGoal;
use domain::workload::{Intent, WorkloadHead};
use domain::{ClusterId, ProjectId, WorkloadId};

use crate::decode::decode_rows;
use crate::spec_reference::WORKLOAD;
use crate::sql::sql;
use crate::workload::list_heads_by_names;
use crate::{Error, Tx};

/// Key of the advisory lock: arbitrary, and unlikely to be used by another program on the same database.
const GRAPH_LOCK: i64 = 7_306_071_312;
/// Matches the stored goals of releases that are being removed or were; one that can't be read is not taken for a removal.
const REMOVAL: &str = r#"{"type":"remov%"#;
/// Clusters per statement.
const CLUSTERS_PER_STATEMENT: usize = 500;

/// Lets no other transaction add dependencies until this one ends: that they have no cycle is a rule over several rows. Call it first in
/// a transaction (`docs/consistency.md`).
pub async fn lock_graph(tx: &mut Tx) -> Result<(), Error> {
    if tx.is_postgres() {
        sql("SELECT pg_advisory_xact_lock($1)").bind(GRAPH_LOCK).execute(tx).await?;
    }
    Ok(())
}

/// The dependencies of every draft and published revision.
pub async fn load_graph(tx: &mut Tx, project: ProjectId) -> Result<DependencyGraph, Error> {
    let rows = sql("SELECT w.name AS name, s.name AS dependency FROM spec_reference s \
                    JOIN workload w ON w.id = s.workload_id WHERE s.kind = $1 AND w.project_id = $2 \
                    AND (s.revision = 0 OR (w.intent = $3 AND s.revision = w.published_revision))")
    .bind_text(WORKLOAD)
    .bind_text(project)
    .bind_text(Intent::Published.as_str())
    .fetch_all(tx)
    .await?;
    let edges = decode_rows(&rows, "spec_reference", |row| Ok((row.text("name")?, row.text("dependency")?)))?;
    Ok(DependencyGraph::from_edges(edges))
}

/// The workloads whose published revision depends on this one, with their names, by name.
pub async fn list_dependents(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<(WorkloadId, String)>, Error> {
    let rows = sql("SELECT w.id AS id, w.name AS name FROM workload d \
                    JOIN spec_reference s ON s.kind = $1 AND s.name = d.name \
                    JOIN workload w ON w.id = s.workload_id AND w.published_revision = s.revision \
                    WHERE d.id = $2 AND w.project_id = d.project_id AND w.intent = $3 ORDER BY w.name")
    .bind_text(WORKLOAD)
    .bind_text(workload)
    .bind_text(Intent::Published.as_str())
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "spec_reference", |row| Ok((row.parse::<WorkloadId>("id")?, row.text("name")?)))
}

/// Every workload whose published revision depends on another one.
pub async fn list_all_dependents(tx: &mut Tx, project: ProjectId) -> Result<Vec<WorkloadId>, Error> {
    let rows = sql("SELECT DISTINCT w.id AS id FROM spec_reference s \
                    JOIN workload w ON w.id = s.workload_id AND w.published_revision = s.revision \
                    WHERE s.kind = $1 AND w.project_id = $2 AND w.intent = $3")
    .bind_text(WORKLOAD)
    .bind_text(project)
    .bind_text(Intent::Published.as_str())
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "spec_reference", |row| row.parse::<WorkloadId>("id"))
}

/// The published workloads that depend on this one and are on these clusters. Of releases only those on these clusters are read, each
/// cluster's once with its name: a further dependent on it needs any one of them.
pub async fn list_dependents_on(
    tx: &mut Tx,
    workload: WorkloadId,
    clusters: &BTreeSet<ClusterId>,
) -> Result<AffectedDependents, Error> {
    let mut found = AffectedDependents::default();
    let mut unknown = clusters.clone();
    let mut known: BTreeSet<ClusterId> = BTreeSet::new();
    for (id, dependent) in list_dependents(tx, workload).await? {
        let is_on_known = is_present_on_any(tx, id, &known).await?;
        let present = list_present_on(tx, id, &unknown).await?;
        if is_on_known || !present.is_empty() {
            found.workloads.insert(dependent);
        }
        for (cluster, name) in present {
            unknown.remove(&cluster);
            known.insert(cluster);
            found.clusters.insert(name);
        }
    }
    Ok(found)
}

/// Whether one of these clusters has a workload and is not losing it.
async fn is_present_on_any(
    tx: &mut Tx,
    workload: WorkloadId,
    clusters: &BTreeSet<ClusterId>,
) -> Result<bool, Error> {
    let clusters: Vec<&ClusterId> = clusters.iter().collect();
    for some in clusters.chunks(CLUSTERS_PER_STATEMENT) {
        let select =
            sql("SELECT id FROM release WHERE workload_id = $1 AND goal NOT LIKE $2 AND cluster_id IN ")
                .bind_text(workload)
                .bind_text(REMOVAL);
        if select.push_list(some).push(" LIMIT 1").fetch_optional(tx).await?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// On which of these clusters the workloads with these names are.
pub async fn load_known(
    tx: &mut Tx,
    project: ProjectId,
    names: &[String],
    targets: &BTreeSet<ClusterId>,
) -> Result<KnownDependencies, Error> {
    let mut known = KnownDependencies::default();
    if names.is_empty() {
        return Ok(known);
    }
    for WorkloadHead { id, name, intent, .. } in list_heads_by_names(tx, project, names).await? {
        let clusters = match intent {
            Intent::Published => {
                let present = list_present_on(tx, id, targets).await?;
                Some(present.into_iter().map(|(cluster, _)| cluster).collect())
            }
            Intent::Draft | Intent::Unpublished | Intent::Deleting => None,
        };
        known.clusters.insert(name, clusters);
    }
    Ok(known)
}

/// Those of these clusters that have a workload and are not losing it, with their names.
async fn list_present_on(
    tx: &mut Tx,
    workload: WorkloadId,
    clusters: &BTreeSet<ClusterId>,
) -> Result<Vec<(ClusterId, String)>, Error> {
    let clusters: Vec<&ClusterId> = clusters.iter().collect();
    let mut found = Vec::new();
    for some in clusters.chunks(CLUSTERS_PER_STATEMENT) {
        let select = sql("SELECT id, cluster_id, cluster_name, goal FROM release \
                          WHERE workload_id = $1 AND goal NOT LIKE $2 AND cluster_id IN ")
        .bind_text(workload)
        .bind_text(REMOVAL);
        let rows = select.push_list(some).fetch_all(tx).await?;
        let releases = decode_rows(&rows, "release", |row| {
            let is_present = row.json::<ReleaseGoal>("goal")? == ReleaseGoal::Present;
            Ok((is_present, row.parse::<ClusterId>("cluster_id")?, row.text("cluster_name")?))
        })?;
        let present = releases.into_iter().filter(|(is_present, ..)| *is_present);
        found.extend(present.map(|(_, cluster, name)| (cluster, name)));
    }
    Ok(found)
}
