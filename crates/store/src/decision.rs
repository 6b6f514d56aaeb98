//! Recorded placement decisions: the most recent ones of each workload.

use domain::WorkloadId;
use domain::placement::{Decision, PendingRemoval};

use crate::decode::decode_row;
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

/// Maximum number of stored decisions per workload.
const DECISIONS_MAX: i64 = 50;

/// Adds a decision and deletes those before the last 50.
pub async fn insert(tx: &mut Tx, workload: WorkloadId, decision: &Decision) -> Result<(), Error> {
    let number = sql("SELECT MAX(number) FROM decision WHERE workload_id = $1")
        .bind_text(workload)
        .fetch_number(tx)
        .await?
        + 1;
    sql("INSERT INTO decision (workload_id, number, body, pending_removals) VALUES ($1, $2, $3, $4)")
        .bind_text(workload)
        .bind(number)
        .bind(to_json(decision)?)
        .bind(to_json(&decision.pending_removals)?)
        .execute(tx)
        .await?;
    let old = "DELETE FROM decision WHERE workload_id = $1 AND number <= $2";
    sql(old).bind_text(workload).bind(number - DECISIONS_MAX).execute(tx).await.map(drop)
}

/// The newest decision of a workload.
pub async fn get_latest(tx: &mut Tx, workload: WorkloadId) -> Result<Option<Decision>, Error> {
    let row =
        sql("SELECT workload_id, body FROM decision WHERE workload_id = $1 ORDER BY number DESC LIMIT 1");
    decode_row(row.bind_text(workload).fetch_optional(tx).await?, "decision", |row| row.json("body"))
}

/// The pending removals of the newest decision, without reading its whole body.
pub async fn list_pending_removals(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<PendingRemoval>, Error> {
    let row = sql(
        "SELECT workload_id, pending_removals FROM decision WHERE workload_id = $1 ORDER BY number DESC LIMIT 1",
    );
    let found = decode_row(row.bind_text(workload).fetch_optional(tx).await?, "decision", |row| {
        row.json("pending_removals")
    })?;
    Ok(found.unwrap_or_default())
}
