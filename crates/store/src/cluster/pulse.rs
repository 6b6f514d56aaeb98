//! The pulse of a cluster: whether it is heard from, and which report was taken last.

use domain::cluster::Reach;
use domain::{ClusterId, Timestamp};

use crate::record::{all, one};
use crate::sql::sql;
use crate::{Error, Tx};

/// Clusters told of in one call of [`overdue`].
const OVERDUE_AT_ONCE: i64 = 500;

/// These clusters were heard from at `at`: one statement for many, because heartbeats are many. Their releases are
/// not touched; returns the clusters that were not online before, with what they were.
pub async fn touch(tx: &mut Tx, ids: &[ClusterId], at: Timestamp) -> Result<Vec<(ClusterId, Reach)>, Error> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    let mut back = Vec::new();
    for ids in ids.chunks(500) {
        let rows = sql("SELECT cluster_id, reach FROM cluster_pulse WHERE cluster_id IN ")
            .list(ids)
            .push(" ORDER BY cluster_id")
            .locking(tx)
            .rows(tx)
            .await?;
        let before = all(&rows, "cluster_pulse", |row| Ok((row.parse("cluster_id")?, row.word("reach")?)));
        back.extend(before.into_iter().filter(|(_, reach)| *reach != Reach::Online));
        // A batch that was held up must not turn the clock back.
        sql("UPDATE cluster_pulse SET reach = 'Online', last_seen = \
             CASE WHEN last_seen IS NULL OR last_seen < $1 THEN $1 ELSE last_seen END WHERE cluster_id IN ")
        .bind(at.millis())
        .list(ids)
        .run(tx)
        .await?;
    }
    Ok(back)
}

/// Sets the reach of a cluster; says whether that is news. Its releases follow with `release::reach_of_cluster`.
pub async fn set_reach(tx: &mut Tx, id: ClusterId, reach: Reach) -> Result<bool, Error> {
    let set = "UPDATE cluster_pulse SET reach = $1 WHERE cluster_id = $2 AND reach <> $1";
    Ok(sql(set).text(reach.word()).text(id).run(tx).await? == 1)
}

/// Clusters whose reach is better than their silence allows at `now`: online and silent for more than one lease, or late
/// and silent for three. Longest silent first, at most 500.
pub async fn overdue(tx: &mut Tx, now: Timestamp) -> Result<Vec<ClusterId>, Error> {
    let rows = sql("SELECT p.cluster_id FROM cluster_pulse p JOIN cluster c ON c.id = p.cluster_id \
                    WHERE (p.reach = 'Online' AND p.last_seen < $1 - c.lease_seconds * 1000) \
                       OR (p.reach = 'Late' AND p.last_seen <= $1 - c.lease_seconds * 3000) \
                    ORDER BY p.last_seen LIMIT $2")
    .bind(now.millis())
    .bind(OVERDUE_AT_ONCE)
    .rows(tx)
    .await?;
    Ok(all(&rows, "cluster_pulse", |row| row.parse("cluster_id")))
}

/// A new agent begins: an incarnation greater than any before, by which its reports are known. The reports of the one
/// before it are late from now on. `None` if there is no such cluster.
pub async fn begin_incarnation(tx: &mut Tx, id: ClusterId) -> Result<Option<i64>, Error> {
    let begin = "UPDATE cluster_pulse SET incarnation = incarnation + 1, seq = 0 WHERE cluster_id = $1";
    if sql(begin).text(id).run(tx).await? == 0 {
        return Ok(None);
    }
    Ok(report_mark(tx, id).await?.map(|(incarnation, _)| incarnation))
}

/// Incarnation and sequence of the last batch of reports that was taken; `None` if there is no such cluster.
pub async fn report_mark(tx: &mut Tx, id: ClusterId) -> Result<Option<(i64, i64)>, Error> {
    let row = sql("SELECT cluster_id, incarnation, seq FROM cluster_pulse WHERE cluster_id = $1");
    one(row.text(id).row(tx).await?, "cluster_pulse", |row| Ok((row.int("incarnation")?, row.int("seq")?)))
}

/// Moves the report mark forward; false for a replay, a late batch, an older incarnation or an unknown cluster. The row
/// stays locked until the transaction ends, so of two copies of a batch one is taken.
pub async fn take_report_mark(tx: &mut Tx, id: ClusterId, incarnation: i64, seq: i64) -> Result<bool, Error> {
    let take = "UPDATE cluster_pulse SET incarnation = $1, seq = $2 \
                WHERE cluster_id = $3 AND (incarnation < $1 OR (incarnation = $1 AND seq < $2))";
    Ok(sql(take).bind(incarnation).bind(seq).text(id).run(tx).await? == 1)
}
