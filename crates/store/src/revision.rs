//! Revisions: what publishing froze. Never changed, never deleted but with their workload.

use domain::WorkloadId;
use domain::page::{ListQuery, Page};
use domain::workload::Revision;

use crate::record::{Record, Why, one, paged};
use crate::sql::{json, sql};
use crate::{Error, Tx, cursor};

const SELECT: &str = "SELECT workload_id, number, author, message, created_at, spec FROM revision \
     WHERE workload_id = $1";

/// Adds a revision. [`Error::Unique`] if the workload has one with this number: somebody else published.
pub async fn insert(tx: &mut Tx, revision: &Revision) -> Result<(), Error> {
    sql("INSERT INTO revision (workload_id, number, author, message, created_at, spec) VALUES ($1, $2, $3, $4, $5, $6)")
        .text(revision.workload)
        .bind(i64::from(revision.number))
        .text(&revision.author)
        .text(&revision.message)
        .bind(revision.created_at.millis())
        .bind(json(&revision.spec)?)
        .run(tx)
        .await
        .map(drop)
}

/// One revision of a workload.
pub async fn get(tx: &mut Tx, workload: WorkloadId, number: u32) -> Result<Option<Revision>, Error> {
    let row = sql(SELECT).push(" AND number = $2").text(workload).bind(i64::from(number)).row(tx).await?;
    one(row, "revision", read)
}

/// Number of the newest revision of a workload; 0 if it has none.
pub async fn latest_number(tx: &mut Tx, workload: WorkloadId) -> Result<u32, Error> {
    let max = "SELECT MAX(number) FROM revision WHERE workload_id = $1";
    let number = sql(max).text(workload).number(tx).await?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// One page of a workload's revisions, newest first.
pub async fn list(tx: &mut Tx, workload: WorkloadId, query: &ListQuery) -> Result<Page<Revision>, Error> {
    let before = cursor::read("revision", 1, query.cursor.as_deref())?;
    let before = before.map_or(Ok(i64::MAX), |parts| cursor::number(&parts[0]))?;
    let total = sql("SELECT COUNT(*) FROM revision WHERE workload_id = $1").text(workload).number(tx).await?;
    let limit = query.limit();
    let rows = sql(SELECT)
        .push(" AND number < $2 ORDER BY number DESC LIMIT $3")
        .text(workload)
        .bind(before)
        .bind(i64::from(limit) + 1)
        .rows(tx)
        .await?;
    let mut placed = paged(&rows, "revision", |row| row.int("number"), read);
    let next =
        cursor::cut(&mut placed, limit, |(number, _)| cursor::write("revision", &[&number.to_string()]));
    let items = placed.into_iter().filter_map(|(_, revision)| revision).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

fn read(row: &Record<'_>) -> Result<Revision, Why> {
    Ok(Revision {
        workload: row.parse("workload_id")?,
        number: row.count("number")?,
        spec: row.json("spec")?,
        author: row.text("author")?,
        message: row.text("message")?,
        created_at: row.at("created_at")?,
    })
}
