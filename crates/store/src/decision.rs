//! Recorded placement decisions: the last ones of each workload.

use domain::WorkloadId;
use domain::placement::{Decision, Leaving};

use crate::record::{all, one};
use crate::sql::{json, sql};
use crate::{Error, Tx};

/// Decisions kept per workload.
const KEPT: i64 = 50;

/// Adds a decision; the oldest beyond the last 50 are forgotten.
pub async fn insert(tx: &mut Tx, workload: WorkloadId, decision: &Decision) -> Result<(), Error> {
    let number =
        sql("SELECT MAX(number) FROM decision WHERE workload_id = $1").text(workload).number(tx).await? + 1;
    sql("INSERT INTO decision (workload_id, number, body, leaving) VALUES ($1, $2, $3, $4)")
        .text(workload)
        .bind(number)
        .bind(json(decision)?)
        .bind(json(&decision.leaving)?)
        .run(tx)
        .await?;
    let old = "DELETE FROM decision WHERE workload_id = $1 AND number <= $2";
    sql(old).text(workload).bind(number - KEPT).run(tx).await.map(drop)
}

/// The newest decision of a workload.
pub async fn latest(tx: &mut Tx, workload: WorkloadId) -> Result<Option<Decision>, Error> {
    let row =
        sql("SELECT workload_id, body FROM decision WHERE workload_id = $1 ORDER BY number DESC LIMIT 1");
    one(row.text(workload).row(tx).await?, "decision", |row| row.json("body"))
}

/// Who is about to lose the workload, as the newest decision says: without reading the whole of it.
pub async fn leaving(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<Leaving>, Error> {
    let row =
        sql("SELECT workload_id, leaving FROM decision WHERE workload_id = $1 ORDER BY number DESC LIMIT 1");
    let found = one(row.text(workload).row(tx).await?, "decision", |row| row.json("leaving"))?;
    Ok(found.unwrap_or_default())
}

/// The decisions of a workload, newest first, at most `limit`.
pub async fn list(tx: &mut Tx, workload: WorkloadId, limit: u32) -> Result<Vec<Decision>, Error> {
    let rows =
        sql("SELECT workload_id, body FROM decision WHERE workload_id = $1 ORDER BY number DESC LIMIT $2")
            .text(workload)
            .bind(i64::from(limit))
            .rows(tx)
            .await?;
    Ok(all(&rows, "decision", |row| row.json("body")))
}
