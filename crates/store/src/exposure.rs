//! What workloads expose on which cluster, so that two of them are not given the same (G303, G305).
//!
//! The placer keeps these rows as it keeps releases; a publish adds its own at once, so that the next one sees them. They
//! go with the workload, with the cluster, and when a release is gone.

use std::collections::BTreeMap;

use domain::guard::Taken;
use domain::{ClusterId, Digest, WorkloadId};

use crate::record::all;
use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// Rows of one statement; with up to four values each, well below the limit of both engines.
const AT_ONCE: usize = 500;

/// The key of an exposure and its class as written.
pub type Row = (Digest, String);

/// What a workload exposes on its clusters, sorted.
pub type Held = BTreeMap<ClusterId, Vec<Row>>;

/// What a workload exposes, by cluster.
pub async fn of_workload(tx: &mut Tx, workload: WorkloadId) -> Result<Held, Error> {
    let rows = sql("SELECT point, class, cluster_id FROM exposure WHERE workload_id = $1")
        .text(workload)
        .rows(tx)
        .await?;
    let read = all(&rows, "exposure", |row| {
        Ok((row.parse::<ClusterId>("cluster_id")?, (row.parse::<Digest>("point")?, row.text("class")?)))
    });
    let mut held = Held::new();
    for (cluster, row) in read {
        held.entry(cluster).or_default().push(row);
    }
    held.values_mut().for_each(|rows| rows.sort());
    Ok(held)
}

/// Which of these points other workloads than `but` hold on the same clusters. One look into an index for each.
pub async fn held_by_others(
    tx: &mut Tx,
    but: Option<WorkloadId>,
    wanted: &[(ClusterId, Digest)],
) -> Result<Vec<Taken>, Error> {
    let mut found = Vec::new();
    for some in wanted.chunks(AT_ONCE) {
        let statement = pairs(sql("WITH wanted (point, cluster_id) AS (VALUES "), some).push(
            ") SELECT e.point, e.cluster_id, e.class, w.name FROM wanted n \
             JOIN exposure e ON e.point = n.point AND e.cluster_id = n.cluster_id \
             JOIN workload w ON w.id = e.workload_id WHERE e.workload_id <> ",
        );
        let but = but.map(|id| id.to_string()).unwrap_or_default();
        let rows = statement.put(but).push(" ORDER BY w.name").rows(tx).await?;
        found.extend(all(&rows, "exposure", |row| {
            Ok(Taken {
                cluster: row.parse("cluster_id")?,
                key: row.parse("point")?,
                class: row.text("class")?,
                workload: row.text("name")?,
            })
        }));
    }
    Ok(found)
}

fn pairs(head: Sql, pairs: &[(ClusterId, Digest)]) -> Sql {
    pairs.iter().enumerate().fold(head, |statement, (n, (cluster, point))| {
        statement
            .push(if n == 0 { "(" } else { ", (" })
            .put(point.to_string())
            .push(", ")
            .put(cluster.to_string())
            .push(")")
    })
}

/// Adds what a workload exposes; what is there stays.
pub async fn add(
    tx: &mut Tx,
    workload: WorkloadId,
    exposures: impl IntoIterator<Item = (ClusterId, Row)>,
) -> Result<(), Error> {
    let all: Vec<_> = exposures.into_iter().collect();
    for some in all.chunks(AT_ONCE) {
        let head = sql("INSERT INTO exposure (point, cluster_id, workload_id, class) VALUES ");
        let values = some.iter().enumerate().fold(head, |statement, (n, (cluster, (point, class)))| {
            statement
                .push(if n == 0 { "(" } else { ", (" })
                .put(point.to_string())
                .push(", ")
                .put(cluster.to_string())
                .push(", ")
                .put(workload.to_string())
                .push(", ")
                .put(class.clone())
                .push(")")
        });
        values.push(" ON CONFLICT (point, cluster_id, workload_id, class) DO NOTHING").run(tx).await?;
    }
    Ok(())
}

/// Writes what a workload exposes on one cluster, in place of what it did.
pub async fn replace(
    tx: &mut Tx,
    workload: WorkloadId,
    cluster: ClusterId,
    rows: Vec<Row>,
) -> Result<(), Error> {
    forget(tx, workload, cluster).await?;
    add(tx, workload, rows.into_iter().map(|row| (cluster, row))).await
}

/// The workload exposes nothing on this cluster any more.
pub async fn forget(tx: &mut Tx, workload: WorkloadId, cluster: ClusterId) -> Result<(), Error> {
    sql("DELETE FROM exposure WHERE workload_id = $1 AND cluster_id = $2")
        .text(workload)
        .text(cluster)
        .run(tx)
        .await
        .map(drop)
}
