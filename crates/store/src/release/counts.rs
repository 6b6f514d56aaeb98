//! Counts of releases by state: stored per workload, so that no page has to count all releases.

use std::collections::BTreeMap;

use domain::release::ReleaseState;
use domain::rollup::ReleaseCounts;
use domain::{ClusterId, Timestamp, WorkloadId};

use super::row::{read_state, state_rank};
use crate::decode::{DecodeError, RowReader, decode_rows};
use crate::sql::sql;
use crate::{Error, Tx};

/// All releases by state.
pub async fn all(tx: &mut Tx) -> Result<ReleaseCounts, Error> {
    let rows = sql("SELECT state, CAST(SUM(total) AS BIGINT) AS n FROM release_count GROUP BY state")
        .fetch_all(tx)
        .await?;
    let mut sums: BTreeMap<ReleaseState, i64> = BTreeMap::new();
    for (state, n) in
        decode_rows(&rows, "release_count", |row| Ok((read_counted_state(row)?, row.int("n")?)))?
    {
        *sums.entry(state).or_default() += n;
    }
    for ((_, state), delta) in &tx.count_deltas {
        *sums.entry(*state).or_default() += delta;
    }
    let mut counts = ReleaseCounts::default();
    for (state, n) in sums {
        counts.add(state, u32::try_from(n).unwrap_or(0));
    }
    Ok(counts)
}

/// Of each of these workloads the first deadline of a release that is not operational; those without any are left out.
pub async fn first_deadlines(
    tx: &mut Tx,
    ids: &[WorkloadId],
) -> Result<BTreeMap<WorkloadId, Timestamp>, Error> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = sql("SELECT workload_id, MIN(deadline_at) AS deadline_at FROM release \
         WHERE deadline_at IS NOT NULL AND workload_id IN ")
    .push_list(ids)
    .push(" GROUP BY workload_id")
    .fetch_all(tx)
    .await?;
    let read =
        decode_rows(&rows, "release", |row| Ok((row.parse("workload_id")?, row.timestamp("deadline_at")?)))?;
    Ok(read.into_iter().collect())
}

/// The releases of these workloads by state; a workload without releases has empty counts.
pub async fn by_workload(
    tx: &mut Tx,
    ids: &[WorkloadId],
) -> Result<BTreeMap<WorkloadId, ReleaseCounts>, Error> {
    let mut counts: BTreeMap<WorkloadId, ReleaseCounts> =
        ids.iter().map(|id| (*id, ReleaseCounts::default())).collect();
    for ids in ids.chunks(500) {
        let some =
            "SELECT workload_id, state, total AS n FROM release_count WHERE total > 0 AND workload_id IN ";
        let rows = sql(some).push_list(ids).fetch_all(tx).await?;
        for (id, state, n) in decode_rows(&rows, "release_count", |row| {
            Ok((row.parse("workload_id")?, read_counted_state(row)?, row.count("n")?))
        })? {
            counts.entry(id).or_default().add(state, n);
        }
    }
    for (id, counts) in &mut counts {
        tx.add_pending_counts(*id, counts);
    }
    Ok(counts)
}

/// The releases of these clusters by state; not stored but counted, because a cluster has few.
pub async fn by_cluster(tx: &mut Tx, ids: &[ClusterId]) -> Result<BTreeMap<ClusterId, ReleaseCounts>, Error> {
    count_by_cluster(tx, ids, "state").await
}

/// The releases of these clusters by last known state, whether or not the clusters report.
pub async fn last_known_by_cluster(
    tx: &mut Tx,
    ids: &[ClusterId],
) -> Result<BTreeMap<ClusterId, ReleaseCounts>, Error> {
    count_by_cluster(tx, ids, "last_known_state").await
}

/// The releases of these clusters by the state in this column; a cluster without releases has empty counts.
async fn count_by_cluster(
    tx: &mut Tx,
    ids: &[ClusterId],
    column: &'static str,
) -> Result<BTreeMap<ClusterId, ReleaseCounts>, Error> {
    let mut counts: BTreeMap<ClusterId, ReleaseCounts> =
        ids.iter().map(|id| (*id, ReleaseCounts::default())).collect();
    for ids in ids.chunks(500) {
        let rows = sql("SELECT cluster_id, ")
            .push(column)
            .push(" AS state, COUNT(*) AS n FROM release WHERE cluster_id IN ")
            .push_list(ids)
            .push(" GROUP BY cluster_id, ")
            .push(column)
            .fetch_all(tx)
            .await?;
        for (id, state, n) in decode_rows(&rows, "release", |row| {
            Ok((row.parse("cluster_id")?, read_counted_state(row)?, row.count("n")?))
        })? {
            counts.entry(id).or_default().add(state, n);
        }
    }
    Ok(counts)
}

/// The state of counted releases; one that this server does not know counts as [`ReleaseState::Unknown`], so that a page
/// neither fails nor shows fewer releases than there are.
fn read_counted_state(row: &RowReader<'_>) -> Result<ReleaseState, DecodeError> {
    Ok(read_state(row, "state").unwrap_or_else(|why| {
        tracing::error!(why, "counted releases in an unreadable state as unknown");
        ReleaseState::Unknown
    }))
}

/// Writes the pending deltas at the commit, in sorted order, see [`Tx`].
pub(crate) async fn flush(tx: &mut Tx) -> Result<(), Error> {
    let deltas: Vec<_> = std::mem::take(&mut tx.count_deltas).into_iter().collect();
    for some in deltas.chunks(100) {
        let mut add = sql("INSERT INTO release_count (workload_id, state, state_rank, total) VALUES ");
        for (n, ((workload, state), delta)) in some.iter().enumerate() {
            add = add.push(if n == 0 { "(" } else { ", (" }).push_bind(workload.to_string());
            add =
                add.push(", ").push_bind(state.as_str().to_owned()).push(", ").push_bind(state_rank(*state));
            add = add.push(", ").push_bind(*delta).push(")");
        }
        add.push(
            " ON CONFLICT (workload_id, state) DO UPDATE SET total = release_count.total + excluded.total",
        )
        .execute(tx)
        .await?;
    }
    Ok(())
}
