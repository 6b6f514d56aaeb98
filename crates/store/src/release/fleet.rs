//! What the fleet page shows of releases: cells of its matrix, and what needs a person.

use domain::fleet::{Attention, FleetCell};
use domain::release::State;
use domain::{ClusterId, WorkloadId};

use super::row::{rank, state};
use crate::record::{Record, Why, all};
use crate::sql::sql;
use crate::{Error, Tx};

/// Failing releases looked at for one answer: worst and oldest first, so what is left out is the newest and mildest.
const LOOKED_AT: i64 = 10_000;
/// Clusters named for one cause.
const NAMED: usize = 5;

/// A cell and where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell {
    /// The row.
    pub workload: WorkloadId,
    /// The column.
    pub cluster: ClusterId,
    /// What is shown.
    pub cell: FleetCell,
}

/// The releases of these workloads on these clusters.
pub async fn cells(
    tx: &mut Tx,
    workloads: &[WorkloadId],
    clusters: &[ClusterId],
) -> Result<Vec<Cell>, Error> {
    let mut cells = Vec::new();
    for workloads in workloads.chunks(100) {
        for clusters in clusters.chunks(500) {
            let rows = sql("SELECT id, workload_id, cluster_id, state, known, state_since, message \
                            FROM release WHERE workload_id IN ")
            .list(workloads)
            .push(" AND cluster_id IN ")
            .list(clusters)
            .rows(tx)
            .await?;
            cells.extend(all(&rows, "release", cell));
        }
    }
    Ok(cells)
}

fn cell(row: &Record<'_>) -> Result<Cell, Why> {
    let (state, last_known) = (state(row, "state")?, state(row, "known")?);
    let message = match state {
        State::Unknown => last_known.unheard(),
        _ => row.text("message")?,
    };
    Ok(Cell {
        workload: row.parse("workload_id")?,
        cluster: row.parse("cluster_id")?,
        cell: FleetCell {
            release: row.parse("id")?,
            state,
            last_known,
            since: row.at("state_since")?,
            message,
        },
    })
}

/// Failing releases, one entry per workload and cause: worst first, then oldest. At most `limit` entries.
pub async fn attention(tx: &mut Tx, limit: u32) -> Result<Vec<Attention>, Error> {
    let failing = format!("WHERE state_rank >= {} ", rank(State::Blocked));
    let rows = sql(
        "WITH failing AS (SELECT workload_id, workload_name, cluster_name, state_rank, state_since, message \
                    FROM release ",
    )
    .push(&failing)
    .push("ORDER BY state_rank DESC, state_since LIMIT $1), ")
    .bind(LOOKED_AT)
    .push(
        "numbered AS (SELECT failing.*, ROW_NUMBER() OVER \
         (PARTITION BY workload_id, message ORDER BY cluster_name) AS place FROM failing) \
         SELECT workload_id, workload_name, message, COUNT(*) AS n, MAX(state_rank) AS worst, \
         MIN(state_since) AS since, STRING_AGG(CASE WHEN place <= ",
    )
    .push(&NAMED.to_string())
    .push(
        " THEN cluster_name END, ',') AS clusters FROM numbered GROUP BY workload_id, workload_name, message \
         ORDER BY worst DESC, since, workload_name LIMIT $2",
    )
    .bind(i64::from(limit))
    .rows(tx)
    .await?;
    Ok(all(&rows, "release", read_attention))
}

fn read_attention(row: &Record<'_>) -> Result<Attention, Why> {
    // Names of clusters hold no commas: they are labels of RFC 1123.
    let mut clusters: Vec<String> = row.text("clusters")?.split(',').map(str::to_owned).collect();
    clusters.sort();
    let worst = usize::try_from(row.int("worst")?).ok().and_then(|rank| State::ALL.get(rank).copied());
    Ok(Attention {
        workload: row.parse("workload_id")?,
        workload_name: row.text("workload_name")?,
        state: worst.ok_or("worst: no such rank")?,
        message: row.text("message")?,
        clusters,
        count: row.count("n")?,
        since: row.at("since")?,
    })
}
