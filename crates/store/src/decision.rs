//! Recorded placement decisions: the most recent ones of each workload.

use domain::WorkloadId;
use domain::placement::Decision;

use crate::decode::decode_row;
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

/// Maximum number of stored decisions per workload.
const DECISIONS_MAX: i64 = 50;

/// Adds a decision without its pending removals, see [`crate::pending_removal`], and deletes those before the last 50.
pub async fn insert(tx: &mut Tx, workload: WorkloadId, decision: &Decision) -> Result<(), Error> {
    let number = sql("SELECT MAX(number) FROM decision WHERE workload_id = $1")
        .bind_text(workload)
        .fetch_number(tx)
        .await?
        + 1;
    let stored = Decision { pending_removals: Vec::new(), ..decision.clone() };
    sql("INSERT INTO decision (workload_id, number, body) VALUES ($1, $2, $3)")
        .bind_text(workload)
        .bind(number)
        .bind(to_json(&stored)?)
        .execute(tx)
        .await?;
    let old = "DELETE FROM decision WHERE workload_id = $1 AND number <= $2";
    sql(old).bind_text(workload).bind(number - DECISIONS_MAX).execute(tx).await.map(drop)
}

/// The newest decision of a workload, without pending removals.
pub async fn get_latest(tx: &mut Tx, workload: WorkloadId) -> Result<Option<Decision>, Error> {
    let row =
        sql("SELECT workload_id, body FROM decision WHERE workload_id = $1 ORDER BY number DESC LIMIT 1");
    decode_row(row.bind_text(workload).fetch_optional(tx).await?, "decision", |row| row.json("body"))
}

/// The revision that the placer has written to every cluster that it selected; 0 if there is none.
pub async fn get_placed_revision(tx: &mut Tx, workload: WorkloadId) -> Result<u32, Error> {
    let placed = sql("SELECT placed_revision FROM placer_queue WHERE workload_id = $1");
    let placed = placed.bind_text(workload).fetch_number(tx).await?;
    Ok(u32::try_from(placed).unwrap_or(u32::MAX))
}

/// Records that the placer has written this revision to every cluster that it selected.
pub async fn set_placed_revision(tx: &mut Tx, workload: WorkloadId, revision: u32) -> Result<(), Error> {
    sql("UPDATE placer_queue SET placed_revision = $1 WHERE workload_id = $2 AND placed_revision <> $1")
        .bind(i64::from(revision))
        .bind_text(workload)
        .execute(tx)
        .await
        .map(drop)
}
