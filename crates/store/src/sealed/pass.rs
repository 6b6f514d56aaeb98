//! Re-encryption of existing values, in batches: after encryption was switched on, and after a rotation.
//!
//! A pass reads every encrypted column and writes the values that are in clear text or encrypted with another key than the
//! active one. The progress is stored with each batch, so a pass continues after a restart. It ends when all rows of a round
//! were found as they should be: a server that learned of the new key later may have written behind the position of a round.

use domain::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::Row as _;

use super::columns::{ContentKind, SEALED_COLUMNS, SealedColumn};
use super::{EncryptionMode, RowKey, data_key, is_empty_value, key_of_bytes, key_of_text};
use crate::decode::{RowReader, decode_row, decode_rows};
use crate::spec_reference;
use crate::sql::{Sql, sql, to_json};
use crate::{Error, Tx};

/// Most rows of a batch.
const BATCH_ROWS: u32 = 200;
/// Bytes of values after which a batch ends.
const BATCH_BYTES: i64 = 4 << 20;

/// What a batch did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchOutcome {
    /// Nothing is to do.
    Idle,
    /// More is to do.
    Progress,
    /// A whole round found every value encrypted with the active key, for the first time since encryption was switched on: what was
    /// deleted from the database file is still in clear text there.
    AllEncrypted,
}

/// The progress of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionProgress {
    /// The table.
    pub table: String,
    /// The column.
    pub column: String,
    /// Rows that were read in this round.
    pub checked: u64,
    /// Rows that were written in this round.
    pub rewritten: u64,
    /// Whether all rows were read.
    pub is_done: bool,
}

/// Key values of a row: texts and numbers, as they are compared in SQL.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum KeyValue {
    Number(i64),
    Text(String),
}

impl KeyValue {
    fn to_text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

type Position = Vec<KeyValue>;

/// Starts a round over all columns at this time.
pub(crate) async fn request(tx: &mut Tx, not_before: Timestamp) -> Result<(), Error> {
    sql("DELETE FROM encryption_pass").execute(tx).await?;
    for column in &SEALED_COLUMNS {
        sql("INSERT INTO encryption_pass (table_name, column_name, position, checked, rewritten, done, not_before) VALUES ($1, $2, NULL, 0, 0, 0, $3)")
            .bind_text(column.table)
            .bind_text(column.column)
            .bind(not_before.millis())
            .execute(tx)
            .await?;
    }
    Ok(())
}

/// The progress of all columns in the current or last round; empty if there was none.
pub(crate) async fn list_progress(tx: &mut Tx) -> Result<Vec<EncryptionProgress>, Error> {
    let rows =
        sql("SELECT table_name, column_name, checked, rewritten, done FROM encryption_pass ORDER BY 1, 2")
            .fetch_all(tx)
            .await?;
    decode_rows(&rows, "encryption_pass", |row| {
        Ok(EncryptionProgress {
            table: row.text("table_name")?,
            column: row.text("column_name")?,
            checked: row.int("checked")?.unsigned_abs(),
            rewritten: row.int("rewritten")?.unsigned_abs(),
            is_done: row.flag("done")?,
        })
    })
}

/// Whether a round may run that has not ended, or whose end was not recorded.
pub(crate) async fn is_requested(tx: &mut Tx, now: Timestamp) -> Result<bool, Error> {
    let later = sql("SELECT COUNT(*) FROM encryption_pass WHERE not_before > $1").bind(now.millis());
    if later.fetch_number(tx).await? > 0 {
        return Ok(false);
    }
    let count =
        sql("SELECT COUNT(*) FROM encryption_pass WHERE done = 0 OR rewritten > 0").fetch_number(tx).await?;
    Ok(count > 0 || data_key::get_mode(tx).await? == EncryptionMode::Running)
}

/// Reads the next rows and writes those that need it.
pub(crate) async fn run_batch(tx: &mut Tx) -> Result<BatchOutcome, Error> {
    let progress = list_progress(tx).await?;
    // In the order of the list, which begins with what users entered.
    let next = SEALED_COLUMNS.iter().find(|column| {
        let is_pending = |one: &&EncryptionProgress| !one.is_done && one.is_of(column);
        progress.iter().find(is_pending).is_some()
    });
    if let Some(column) = next {
        run_column_batch(tx, column).await?;
        return Ok(BatchOutcome::Progress);
    }
    if progress.iter().any(|one| one.rewritten > 0) {
        request(tx, Timestamp::from_millis(0)).await?;
        return Ok(BatchOutcome::Progress);
    }
    match data_key::get_mode(tx).await? {
        EncryptionMode::Running => Ok(BatchOutcome::AllEncrypted),
        EncryptionMode::Waiting | EncryptionMode::Complete => Ok(BatchOutcome::Idle),
    }
}

impl EncryptionProgress {
    fn is_of(&self, column: &SealedColumn) -> bool {
        self.table == column.table && self.column == column.column
    }
}

async fn run_column_batch(tx: &mut Tx, column: &SealedColumn) -> Result<(), Error> {
    let position =
        sql("SELECT table_name, position FROM encryption_pass WHERE table_name = $1 AND column_name = $2")
            .bind_text(column.table)
            .bind_text(column.column)
            .push_locking_clause(tx)
            .fetch_optional(tx)
            .await?;
    let position: Option<Position> =
        decode_row(position, "encryption_pass", |row| row.opt_json("position"))?.flatten();
    let (keys, is_last) = list_keys(tx, column, position.as_ref()).await?;
    let mut rewritten = 0_i64;
    for key in &keys {
        match rewrite(tx, column, key).await {
            Ok(is_rewritten) => rewritten += i64::from(is_rewritten),
            // It is encrypted, and stays as it is.
            Err(error @ Error::InvalidRow { .. }) => {
                tracing::error!(error = &error as &dyn std::error::Error, "a value can't be encrypted again");
            }
            Err(error) => return Err(error),
        }
    }
    let position = keys.last().or(position.as_ref()).map(to_json).transpose()?;
    sql("UPDATE encryption_pass SET position = $1, checked = checked + $2, rewritten = rewritten + $3, done = $4 \
         WHERE table_name = $5 AND column_name = $6")
    .bind(position)
    .bind(keys.len() as i64)
    .bind(rewritten)
    .bind(i64::from(is_last))
    .bind_text(column.table)
    .bind_text(column.column)
    .execute(tx)
    .await
    .map(drop)
}

/// The keys of the next rows with a value, and whether they are the last ones.
async fn list_keys(
    tx: &mut Tx,
    column: &SealedColumn,
    after: Option<&Position>,
) -> Result<(Vec<Position>, bool), Error> {
    let key = column.key.join(", ");
    let mut select =
        sql("SELECT ").push(&key).push(", OCTET_LENGTH(").push(column.column).push(") AS bytes FROM ");
    select = select.push(column.table).push(" WHERE ").push(column.column).push(" IS NOT NULL");
    if let Some(after) = after {
        select = push_key(select.push(" AND (").push(&key).push(") > ("), after).push(")");
    }
    let select = select.push(" ORDER BY ").push(&key).push(" LIMIT ").push_bind(i64::from(BATCH_ROWS));
    let rows = select.fetch_all(tx).await?;
    let sized = decode_rows(&rows, column.table, |row| Ok((read_key(row, column)?, row.int("bytes")?)))?;
    let (mut keys, mut bytes) = (Vec::new(), 0);
    let count = sized.len();
    for (key, size) in sized {
        if bytes > BATCH_BYTES {
            break;
        }
        bytes += size;
        keys.push(key);
    }
    let is_last = count < BATCH_ROWS as usize && keys.len() == count;
    Ok((keys, is_last))
}

fn read_key(row: &RowReader<'_>, column: &SealedColumn) -> Result<Position, String> {
    let read = |name: &&str| {
        let text = row.get::<String>(name).map(KeyValue::Text);
        text.or_else(|_| row.int(name).map(KeyValue::Number))
    };
    column.key.iter().map(read).collect()
}

fn push_key(statement: Sql, key: &Position) -> Sql {
    key.iter().enumerate().fold(statement, |statement, (n, value)| {
        let statement = if n == 0 { statement } else { statement.push(", ") };
        match value {
            KeyValue::Number(number) => statement.push_bind(*number),
            KeyValue::Text(text) => statement.push_bind(text.clone()),
        }
    })
}

/// `WHERE` the row has this key.
fn push_where(statement: Sql, column: &SealedColumn, key: &Position) -> Sql {
    push_key(statement.push(" WHERE (").push(&column.key.join(", ")).push(") = ("), key).push(")")
}

/// Writes a value if it is not encrypted with the active key; returns whether it was written.
async fn rewrite(tx: &mut Tx, column: &SealedColumn, key: &Position) -> Result<bool, Error> {
    let select = sql("SELECT ").push(&column.key.join(", ")).push(", ").push(column.column).push(" FROM ");
    let select = push_where(select.push(column.table), column, key).push_locking_clause(tx);
    let Some(row) = select.fetch_optional(tx).await? else { return Ok(false) };
    let active = tx.keyring().active();
    let texts: RowKey = key.iter().map(KeyValue::to_text).collect();
    let update = sql("UPDATE ").push(column.table).push(" SET ").push(column.column).push(" = ");
    let update = match column.content {
        ContentKind::Text => {
            let stored = row.row.try_get::<Option<String>, _>(column.column)?;
            let is_current = |text: &String| is_empty_value(text) || key_of_text(text) == Some(&active);
            if stored.as_ref().is_none_or(is_current) {
                return Ok(false);
            }
            let text =
                decode_row(Some(row), column.table, |row| row.text(column.column))?.unwrap_or_default();
            spec_reference::replace_for_text(tx, column, &texts, &text).await?;
            update.push_bind(tx.seal_text(column, &texts, text))
        }
        ContentKind::Bytes => {
            let stored = row.row.try_get::<Option<Vec<u8>>, _>(column.column)?;
            if stored.as_ref().is_none_or(|bytes| key_of_bytes(bytes) == Some(&active)) {
                return Ok(false);
            }
            let bytes =
                decode_row(Some(row), column.table, |row| row.bytes(column.column))?.unwrap_or_default();
            update.push_bind(tx.seal_bytes(column, &texts, &bytes))
        }
    };
    push_where(update, column, key).execute(tx).await.map(|changed| changed == 1)
}
