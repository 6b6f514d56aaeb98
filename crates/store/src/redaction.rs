//! Values that servers of earlier versions have stored and that later ones do not: rows that may have some, and how often they are looked
//! for. What a value is, and what is stored in its place, is decided by the caller.

use domain::ReleaseId;

use crate::decode::{decode_readable_rows, decode_row};
use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// The name of the setting with the number of passes that are due.
const SETTING: &str = "redaction";

/// A column in clear text with messages of clusters: a message, or JSON with messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageColumn {
    table: &'static str,
    column: &'static str,
}

const fn column(table: &'static str, column: &'static str) -> MessageColumn {
    MessageColumn { table, column }
}

/// All of them, in tables whose key is `id`. Failures that wait for their incident are deleted after some minutes.
pub const MESSAGE_COLUMNS: [MessageColumn; 7] = [
    column("release", "message"),
    column("release", "health_detail"),
    column("release", "stages"),
    column("incident", "cause"),
    column("incident", "clusters"),
    column("delivery", "message"),
    column("operation", "targets"),
];

/// How many passes are due.
pub async fn count_due_passes(tx: &mut Tx) -> Result<u32, Error> {
    let row =
        sql("SELECT name, value FROM setting WHERE name = $1").bind_text(SETTING).fetch_optional(tx).await?;
    Ok(decode_row(row, "setting", |row| row.parse::<u32>("value"))?.unwrap_or_default())
}

/// Records that a pass has ended when so many were due.
pub async fn record_pass(tx: &mut Tx, due: u32) -> Result<(), Error> {
    sql("UPDATE setting SET value = $1 WHERE name = $2 AND value = $3")
        .bind_text(due.saturating_sub(1))
        .bind_text(SETTING)
        .bind_text(due)
        .execute(tx)
        .await
        .map(drop)
}

/// Adds the condition that a column has one of these texts.
pub(crate) fn push_marks(statement: Sql, column: &str, marks: &[&str]) -> Sql {
    let statement = marks.iter().enumerate().fold(statement.push("("), |statement, (n, mark)| {
        let statement = if n == 0 { statement } else { statement.push(" OR ") };
        statement.push(column).push(" LIKE ").push_bind(format!("%{mark}%"))
    });
    statement.push(")")
}

/// The rows after this id whose column has one of these texts, by id, with the content of the column.
pub async fn list_marked(
    tx: &mut Tx,
    MessageColumn { table, column }: MessageColumn,
    marks: &[&str],
    (after, limit): (&str, u32),
) -> Result<Vec<(String, String)>, Error> {
    let select = sql("SELECT id, ").push(column).push(" AS content FROM ").push(table);
    let select =
        push_marks(select.push(" WHERE "), column, marks).push(" AND id > ").push_bind(after.to_owned());
    let rows = select.push(" ORDER BY id LIMIT ").push_bind(i64::from(limit)).fetch_all(tx).await?;
    Ok(decode_readable_rows(&rows, table, |row| Ok((row.text("id")?, row.text("content")?))))
}

/// Replaces the content of a column of the row with this id, unless it has another one by now; returns whether it was replaced.
pub async fn replace_marked(
    tx: &mut Tx,
    MessageColumn { table, column }: MessageColumn,
    id: &str,
    (before, after): (&str, &str),
) -> Result<bool, Error> {
    let update =
        sql("UPDATE ").push(table).push(" SET ").push(column).push(" = ").push_bind(after.to_owned());
    let update = update.push(" WHERE id = ").push_bind(id.to_owned());
    let update = update.push(" AND ").push(column).push(" = ").push_bind(before.to_owned());
    Ok(update.execute(tx).await? == 1)
}

/// The releases after this one whose clusters have reported their objects, by id.
pub async fn list_reported(
    tx: &mut Tx,
    after: Option<ReleaseId>,
    limit: u32,
) -> Result<Vec<ReleaseId>, Error> {
    let rows = sql(
        "SELECT release_id AS id FROM release_resources WHERE release_id > $1 ORDER BY release_id LIMIT $2",
    )
    .bind_text(after.map(|id| id.to_string()).unwrap_or_default())
    .bind(i64::from(limit))
    .fetch_all(tx)
    .await?;
    Ok(decode_readable_rows(&rows, "release_resources", |row| row.parse::<ReleaseId>("id")))
}
