//! Releases by state: kept per workload, so that no page counts a fleet.

use std::collections::BTreeMap;

use domain::release::State;
use domain::rollup::Counts;
use domain::{ClusterId, WorkloadId};

use super::row::{rank, state};
use crate::record::all as read_all;
use crate::sql::sql;
use crate::{Error, Tx};

/// All releases by state.
pub async fn all(tx: &mut Tx) -> Result<Counts, Error> {
    let rows =
        sql("SELECT state, CAST(SUM(n) AS BIGINT) AS n FROM release_count GROUP BY state").rows(tx).await?;
    let mut sums: BTreeMap<State, i64> =
        read_all(&rows, "release_count", |row| Ok((state(row, "state")?, row.int("n")?)))
            .into_iter()
            .collect();
    for ((_, state), delta) in &tx.counts {
        *sums.entry(*state).or_default() += delta;
    }
    let mut counts = Counts::default();
    for (state, n) in sums {
        counts.add(state, u32::try_from(n).unwrap_or(0));
    }
    Ok(counts)
}

/// The releases of these workloads by state; a workload without releases has empty counts.
pub async fn by_workload(tx: &mut Tx, ids: &[WorkloadId]) -> Result<BTreeMap<WorkloadId, Counts>, Error> {
    let mut counts: BTreeMap<WorkloadId, Counts> = ids.iter().map(|id| (*id, Counts::default())).collect();
    for ids in ids.chunks(500) {
        let some = "SELECT workload_id, state, n FROM release_count WHERE n > 0 AND workload_id IN ";
        let rows = sql(some).list(ids).rows(tx).await?;
        for (id, state, n) in read_all(&rows, "release_count", |row| {
            Ok((row.parse("workload_id")?, state(row, "state")?, row.count("n")?))
        }) {
            counts.entry(id).or_default().add(state, n);
        }
    }
    for (id, counts) in &mut counts {
        tx.with_pending(*id, counts);
    }
    Ok(counts)
}

/// The releases of these clusters by state; counted, because a cluster has few.
pub async fn by_cluster(tx: &mut Tx, ids: &[ClusterId]) -> Result<BTreeMap<ClusterId, Counts>, Error> {
    let mut counts: BTreeMap<ClusterId, Counts> = ids.iter().map(|id| (*id, Counts::default())).collect();
    for ids in ids.chunks(500) {
        let rows = sql("SELECT cluster_id, state, COUNT(*) AS n FROM release WHERE cluster_id IN ")
            .list(ids)
            .push(" GROUP BY cluster_id, state")
            .rows(tx)
            .await?;
        for (id, state, n) in read_all(&rows, "release", |row| {
            Ok((row.parse("cluster_id")?, state(row, "state")?, row.count("n")?))
        }) {
            counts.entry(id).or_default().add(state, n);
        }
    }
    Ok(counts)
}

/// At the commit: in one order for all, see [`Tx`].
pub(crate) async fn flush(tx: &mut Tx) -> Result<(), Error> {
    let deltas: Vec<_> = std::mem::take(&mut tx.counts).into_iter().collect();
    for some in deltas.chunks(100) {
        let mut add = sql("INSERT INTO release_count (workload_id, state, state_rank, n) VALUES ");
        for (n, ((workload, state), delta)) in some.iter().enumerate() {
            add = add.push(if n == 0 { "(" } else { ", (" }).put(workload.to_string());
            add = add.push(", ").put(state.word().to_owned()).push(", ").put(rank(*state));
            add = add.push(", ").put(*delta).push(")");
        }
        add.push(" ON CONFLICT (workload_id, state) DO UPDATE SET n = release_count.n + excluded.n")
            .run(tx)
            .await?;
    }
    Ok(())
}
