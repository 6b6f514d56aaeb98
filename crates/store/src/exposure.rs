//! Exposures of workloads per cluster, to find conflicts between workloads (G303, G305, and G105 of the names of releases).
//!
//! The placer writes these rows with the releases; a publish adds its own in its transaction, so that the next
//! publish reads them. They are deleted with the workload, with the cluster, and when the release is gone.

use std::collections::BTreeMap;

use domain::guard::ExposureConflict;
use domain::{ClusterId, Digest, WorkloadId};

use crate::decode::decode_rows;
use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// Rows per statement; with up to four parameters each, below the parameter limit of both engines.
const ROWS_PER_STATEMENT: usize = 500;

/// The key of an exposure and its ingress class as written.
pub type ExposureRow = (Digest, String);

/// The exposures of a workload by cluster, sorted.
pub type ExposuresByCluster = BTreeMap<ClusterId, Vec<ExposureRow>>;

/// The exposures of a workload by cluster.
pub async fn list_by_workload(tx: &mut Tx, workload: WorkloadId) -> Result<ExposuresByCluster, Error> {
    let rows = sql("SELECT exposure_key, ingress_class, cluster_id FROM exposure WHERE workload_id = $1")
        .bind_text(workload)
        .fetch_all(tx)
        .await?;
    let read = decode_rows(&rows, "exposure", |row| {
        Ok((
            row.parse::<ClusterId>("cluster_id")?,
            (row.parse::<Digest>("exposure_key")?, row.text("ingress_class")?),
        ))
    })?;
    let mut by_cluster = ExposuresByCluster::new();
    for (cluster, row) in read {
        by_cluster.entry(cluster).or_default().push(row);
    }
    by_cluster.values_mut().for_each(|rows| rows.sort());
    Ok(by_cluster)
}

/// Those of the `requested` exposures that workloads other than `except` have on the same clusters. One index lookup
/// for each.
pub async fn list_conflicts(
    tx: &mut Tx,
    except: Option<WorkloadId>,
    requested: &[(ClusterId, Digest)],
) -> Result<Vec<ExposureConflict>, Error> {
    let mut found = Vec::new();
    for some in requested.chunks(ROWS_PER_STATEMENT) {
        let statement = push_pairs(sql("WITH requested (exposure_key, cluster_id) AS (VALUES "), some).push(
            ") SELECT e.exposure_key, e.cluster_id, e.ingress_class, w.name FROM requested n \
             JOIN exposure e ON e.exposure_key = n.exposure_key AND e.cluster_id = n.cluster_id \
             JOIN workload w ON w.id = e.workload_id WHERE e.workload_id <> ",
        );
        let except = except.map(|id| id.to_string()).unwrap_or_default();
        let rows = statement.push_bind(except).push(" ORDER BY w.name").fetch_all(tx).await?;
        found.extend(decode_rows(&rows, "exposure", |row| {
            Ok(ExposureConflict {
                cluster: row.parse("cluster_id")?,
                key: row.parse("exposure_key")?,
                class: row.text("ingress_class")?,
                workload: row.text("name")?,
            })
        })?);
    }
    Ok(found)
}

fn push_pairs(head: Sql, pairs: &[(ClusterId, Digest)]) -> Sql {
    pairs.iter().enumerate().fold(head, |statement, (n, (cluster, key))| {
        statement
            .push(if n == 0 { "(" } else { ", (" })
            .push_bind(key.to_string())
            .push(", ")
            .push_bind(cluster.to_string())
            .push(")")
    })
}

/// Adds exposures of a workload; existing ones do not change.
pub async fn add(
    tx: &mut Tx,
    workload: WorkloadId,
    exposures: impl IntoIterator<Item = (ClusterId, ExposureRow)>,
) -> Result<(), Error> {
    let all: Vec<_> = exposures.into_iter().collect();
    for some in all.chunks(ROWS_PER_STATEMENT) {
        let head = sql("INSERT INTO exposure (exposure_key, cluster_id, workload_id, ingress_class) VALUES ");
        let values = some.iter().enumerate().fold(head, |statement, (n, (cluster, (key, class)))| {
            statement
                .push(if n == 0 { "(" } else { ", (" })
                .push_bind(key.to_string())
                .push(", ")
                .push_bind(cluster.to_string())
                .push(", ")
                .push_bind(workload.to_string())
                .push(", ")
                .push_bind(class.clone())
                .push(")")
        });
        values
            .push(" ON CONFLICT (exposure_key, cluster_id, workload_id, ingress_class) DO NOTHING")
            .execute(tx)
            .await?;
    }
    Ok(())
}

/// Replaces the exposures of a workload on one cluster.
pub async fn replace(
    tx: &mut Tx,
    workload: WorkloadId,
    cluster: ClusterId,
    rows: Vec<ExposureRow>,
) -> Result<(), Error> {
    delete(tx, workload, cluster).await?;
    add(tx, workload, rows.into_iter().map(|row| (cluster, row))).await
}

/// Deletes the exposures of a workload on one cluster.
pub async fn delete(tx: &mut Tx, workload: WorkloadId, cluster: ClusterId) -> Result<(), Error> {
    sql("DELETE FROM exposure WHERE workload_id = $1 AND cluster_id = $2")
        .bind_text(workload)
        .bind_text(cluster)
        .execute(tx)
        .await
        .map(drop)
}
