//! Revisions: snapshots that a publish creates. Immutable, and deleted only with their workload.

use domain::WorkloadId;
use domain::page::{ListQuery, Page};
use domain::workload::Revision;

use crate::decode::{DecodeError, RowReader, decode_page, decode_row};
use crate::sql::{sql, to_json};
use crate::{Error, Tx, cursor};

const SELECT: &str = "SELECT workload_id, number, author, message, created_at, spec FROM revision \
     WHERE workload_id = $1";

/// Adds a revision. [`Error::AlreadyExists`] if the workload has one with this number, from a concurrent publish.
pub async fn insert(tx: &mut Tx, revision: &Revision) -> Result<(), Error> {
    sql("INSERT INTO revision (workload_id, number, author, message, created_at, spec) VALUES ($1, $2, $3, $4, $5, $6)")
        .bind_text(revision.workload)
        .bind(i64::from(revision.number))
        .bind_text(&revision.author)
        .bind_text(&revision.message)
        .bind(revision.created_at.millis())
        .bind(to_json(&revision.spec)?)
        .execute(tx)
        .await
        .map(drop)
}

/// One revision of a workload.
pub async fn get(tx: &mut Tx, workload: WorkloadId, number: u32) -> Result<Option<Revision>, Error> {
    let row = sql(SELECT)
        .push(" AND number = $2")
        .bind_text(workload)
        .bind(i64::from(number))
        .fetch_optional(tx)
        .await?;
    decode_row(row, "revision", read)
}

/// A revision that another row refers to. [`Error::MissingRow`] if it does not exist: that must not look like a workload
/// without a published revision.
pub async fn get_existing(tx: &mut Tx, workload: WorkloadId, number: u32) -> Result<Revision, Error> {
    let missing = || Error::MissingRow { table: "revision", id: format!("{workload}/{number}") };
    get(tx, workload, number).await?.ok_or_else(missing)
}

/// Number of the newest revision of a workload; 0 if it has none.
pub async fn latest_number(tx: &mut Tx, workload: WorkloadId) -> Result<u32, Error> {
    let max = "SELECT MAX(number) FROM revision WHERE workload_id = $1";
    let number = sql(max).bind_text(workload).fetch_number(tx).await?;
    Ok(u32::try_from(number).unwrap_or(u32::MAX))
}

/// One page of a workload's revisions, newest first.
pub async fn list(tx: &mut Tx, workload: WorkloadId, query: &ListQuery) -> Result<Page<Revision>, Error> {
    let before = cursor::decode("revision", 1, query.cursor.as_deref())?;
    let before = before.map_or(Ok(i64::MAX), |parts| cursor::parse_number(&parts[0]))?;
    let total = sql("SELECT COUNT(*) FROM revision WHERE workload_id = $1")
        .bind_text(workload)
        .fetch_number(tx)
        .await?;
    let limit = query.limit();
    let rows = sql(SELECT)
        .push(" AND number < $2 ORDER BY number DESC LIMIT $3")
        .bind_text(workload)
        .bind(before)
        .bind(i64::from(limit) + 1)
        .fetch_all(tx)
        .await?;
    let mut placed = decode_page(&rows, "revision", |row| row.int("number"), read);
    let next = cursor::truncate_page(&mut placed, limit, |(number, _)| {
        cursor::encode("revision", &[&number.to_string()])
    });
    let items = placed.into_iter().filter_map(|(_, revision)| revision).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

fn read(row: &RowReader<'_>) -> Result<Revision, DecodeError> {
    Ok(Revision {
        workload: row.parse("workload_id")?,
        number: row.count("number")?,
        spec: row.json("spec")?,
        author: row.text("author")?,
        message: row.text("message")?,
        created_at: row.timestamp("created_at")?,
    })
}
