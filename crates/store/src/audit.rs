//! The audit log: entries in a chain of hashes, written by the commit of the transaction that they record.
//!
//! Positions are without gaps and in the order of the commits, as those of events: the row of the counter is locked from the
//! assignment until the commit. So only transactions of users wait for each other here, and only for the time of a commit.

use domain::Timestamp;
use domain::audit::{AuditEntry, AuditOutcome, AuditQuery, AuditRecord, first_hash};
use domain::event::NewEvent;

use crate::decode::{decode_json, decode_rows};
use crate::page_bytes::{PageLimit, VALUES_PAGE_BYTES, byte_length, find_fitting_rows};
use crate::sql::{Sql, like_pattern, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// Maximum number of entries per call.
const LIMIT_MAX: u32 = 1000;
/// Longest stored message, in characters.
const MESSAGE_MAX: usize = 2000;
/// Longest stored subject, in characters.
const SUBJECT_MAX: usize = 300;
/// Most bytes of the changes of an entry, as JSON: the names of all clusters of a large fleet. What is more is recorded as its event
/// has it, cut.
const CHANGES_MAX: usize = 1 << 20;

/// An entry as it is stored.
struct AuditRow {
    seq: i64,
    at: Timestamp,
    actor: String,
    credential: String,
    address: String,
    request_id: String,
    action: String,
    outcome: AuditOutcome,
    subject: String,
    message: String,
    changes: Vec<serde_json::Value>,
    previous: domain::Digest,
    hash: domain::Digest,
}

table_row! {
    AuditRow as row in "audit_entry" => AuditRow;
    Key seq = row.seq => seq: int;
    Fixed created_at = row.at => at: timestamp;
    Fixed actor = &row.actor => actor: text;
    Fixed credential = &row.credential => credential: text;
    Fixed address = &row.address => address: text;
    Fixed request_id = &row.request_id => request_id: text;
    Fixed action = &row.action => action: text;
    Fixed outcome = row.outcome.as_str() => outcome: enum_value;
    Fixed subject = &row.subject => subject: text;
    Fixed message = &row.message => message: text;
    Fixed changes = to_json(&row.changes)? => changes: json;
    Fixed previous = row.previous.as_str() => previous: parse;
    Fixed hash = row.hash.as_str() => hash: parse;
}

impl From<AuditEntry> for AuditRow {
    fn from(AuditEntry { seq, at, record, previous, hash }: AuditEntry) -> Self {
        let AuditRecord {
            actor,
            credential,
            address,
            request_id,
            action,
            outcome,
            subject,
            message,
            changes,
        } = record;
        Self {
            seq,
            at,
            actor,
            credential,
            address,
            request_id,
            action,
            outcome,
            subject,
            message,
            changes,
            previous,
            hash,
        }
    }
}

impl From<AuditRow> for AuditEntry {
    fn from(row: AuditRow) -> Self {
        let record = AuditRecord {
            actor: row.actor,
            credential: row.credential,
            address: row.address,
            request_id: row.request_id,
            action: row.action,
            outcome: row.outcome,
            subject: row.subject,
            message: row.message,
            changes: row.changes,
        };
        Self { seq: row.seq, at: row.at, record, previous: row.previous, hash: row.hash }
    }
}

/// Entries, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedEntries {
    /// Those of the page: fewer than the limit where they have many bytes, and at least one if there is one.
    pub entries: Vec<AuditEntry>,
    /// The position before which the next page begins; `None` if no older entry matches.
    pub next: Option<i64>,
}

/// Adds the conditions of a query to a statement.
fn push_query(statement: Sql, query: &AuditQuery) -> Sql {
    let mut some = statement.push(" WHERE seq < ").push_bind(query.before.unwrap_or(i64::MAX));
    for (column, value) in [("actor", &query.actor), ("action", &query.action)] {
        if !value.is_empty() {
            some = some.push(&format!(" AND {column} = ")).push_bind(value.clone());
        }
    }
    if let Some(outcome) = query.outcome {
        some = some.push(" AND outcome = ").push_bind(outcome.as_str().to_owned());
    }
    if !query.subject.is_empty() {
        some = some.push(" AND subject LIKE ").push_bind(like_pattern(&query.subject)).push(" ESCAPE '\\'");
    }
    some
}

/// The position of each entry, and the bytes that reading it needs.
fn select_sizes() -> Sql {
    let bytes = byte_length(&["subject", "message", "changes"]);
    sql("SELECT seq, ").push(&bytes).push(" AS bytes FROM audit_entry")
}

/// One page of entries, newest first.
///
/// # Errors
/// Also an entry that can't be read: it is not left out.
pub async fn list(tx: &mut Tx, query: &AuditQuery, limit: u32) -> Result<ListedEntries, Error> {
    let limit = PageLimit { rows: limit.min(LIMIT_MAX), bytes: VALUES_PAGE_BYTES };
    let sizes = push_query(select_sizes(), query)
        .push(" ORDER BY seq DESC LIMIT ")
        .push_bind(i64::from(limit.rows) + 1);
    let page = find_fitting_rows(tx, sizes, limit, |row| row.int("seq")).await?;
    let Some((first, last)) = page.ends else { return Ok(ListedEntries::default()) };
    let some = push_query(table::select_from::<AuditRow>(), query)
        .push(" AND seq BETWEEN ")
        .push_bind(last)
        .push(" AND ")
        .push_bind(first)
        .push(" ORDER BY seq DESC");
    Ok(ListedEntries { entries: read_entries(some, tx).await?, next: page.has_more.then_some(last) })
}

/// The entries after this position, oldest first; fewer than the limit where they have many bytes, and none only at the end.
///
/// # Errors
/// Also an entry that can't be read.
pub async fn list_after(tx: &mut Tx, seq: i64, limit: u32) -> Result<Vec<AuditEntry>, Error> {
    let limit = PageLimit { rows: limit.min(LIMIT_MAX), bytes: VALUES_PAGE_BYTES };
    let sizes = select_sizes()
        .push(" WHERE seq > $1 ORDER BY seq LIMIT $2")
        .bind(seq)
        .bind(i64::from(limit.rows) + 1);
    let Some((first, last)) = find_fitting_rows(tx, sizes, limit, |row| row.int("seq")).await?.ends else {
        return Ok(Vec::new());
    };
    let some = table::select_from::<AuditRow>()
        .push(" WHERE seq BETWEEN $1 AND $2 ORDER BY seq")
        .bind(first)
        .bind(last);
    read_entries(some, tx).await
}

async fn read_entries(statement: Sql, tx: &mut Tx) -> Result<Vec<AuditEntry>, Error> {
    let rows = decode_rows(&statement.fetch_all(tx).await?, "audit_entry", read_row)?;
    Ok(rows.into_iter().map(AuditEntry::from).collect())
}

/// Position of the newest entry; 0 if there was never one.
pub async fn last_seq(tx: &mut Tx) -> Result<i64, Error> {
    sql("SELECT value FROM counter WHERE name = 'audit'").fetch_number(tx).await
}

/// Whether an entry with this actor, action and outcome was written since this time.
pub async fn is_recorded_since(tx: &mut Tx, record: &AuditRecord, since: Timestamp) -> Result<bool, Error> {
    let found =
        sql("SELECT COUNT(*) FROM audit_entry WHERE actor = $1 AND action = $2 AND outcome = $3 AND \
                     address = $4 AND created_at > $5")
        .bind(record.actor.clone())
        .bind(record.action.clone())
        .bind(record.outcome.as_str().to_owned())
        .bind(record.address.clone())
        .bind(since.millis())
        .fetch_number(tx)
        .await?;
    Ok(found > 0)
}

/// Adds what the events of the transaction say to a record.
fn describe(record: &mut AuditRecord, events: &[(NewEvent, Timestamp)]) -> Result<(), Error> {
    let (mut bytes, mut omitted) = (0_usize, 0_usize);
    for (event, _) in events {
        if record.subject.is_empty() {
            record.subject = event.subject.describe();
        }
        if record.message.len() < MESSAGE_MAX {
            let space = if record.message.is_empty() { "" } else { " " };
            record.message.push_str(space);
            record.message.extend(event.message.chars().take(MESSAGE_MAX));
        }
        if let Some(detail) = &event.detail {
            let whole = to_json(detail)?;
            let fitting = if bytes + whole.len() > CHANGES_MAX { cut_change(event)? } else { Some(whole) };
            let Some(text) = fitting.filter(|text| bytes + text.len() <= CHANGES_MAX) else {
                omitted += 1;
                continue;
            };
            bytes += text.len();
            let invalid = |why| Error::InvalidRow { table: "audit_entry", id: record.action.clone(), why };
            record.changes.push(decode_json("changes", &text).map_err(invalid)?);
        }
    }
    if omitted > 0 {
        let note = format!("Further changes that are too long to be recorded: {omitted}.");
        record.changes.push(serde_json::Value::from(note));
    }
    truncate_chars(&mut record.subject, SUBJECT_MAX);
    truncate_chars(&mut record.message, MESSAGE_MAX);
    // In the list they are nested one level deeper than in their events.
    if to_json(&record.changes).is_err() {
        record.changes = vec![serde_json::Value::from("The changes are nested too deeply to be recorded.")];
    }
    Ok(())
}

/// The detail as the stored event has it; `None` if that leaves it out.
fn cut_change(event: &NewEvent) -> Result<Option<String>, Error> {
    event.clone().truncated().detail.as_ref().map(to_json).transpose()
}

fn truncate_chars(text: &mut String, max: usize) {
    if let Some((end, _)) = text.char_indices().nth(max) {
        text.truncate(end);
    }
}

/// A record that does not say what was changed is a defect. A debug build refuses its transaction, so that a test finds it; another one
/// records what is known: the change is not lost because of its description.
fn require_description(record: &mut AuditRecord) -> Result<(), Error> {
    if !record.subject.is_empty() && !record.message.is_empty() {
        return Ok(());
    }
    if cfg!(debug_assertions) {
        return Err(Error::UndescribedChange { action: record.action.clone() });
    }
    tracing::error!(action = record.action, "a change was recorded without its subject or message");
    for part in [&mut record.subject, &mut record.message] {
        if part.is_empty() {
            "unknown".clone_into(part);
        }
    }
    Ok(())
}

/// Writes the record of the transaction, if it has one, before its events.
///
/// # Errors
/// Also [`Error::UndescribedChange`], in debug builds.
pub(crate) async fn flush(tx: &mut Tx) -> Result<(), Error> {
    let Some(pending) = tx.pending_audit.take() else { return Ok(()) };
    let (mut record, at) = *pending;
    describe(&mut record, &tx.pending_events)?;
    require_description(&mut record)?;
    let seq = sql("UPDATE counter SET value = value + 1 WHERE name = 'audit' RETURNING value")
        .fetch_number(tx)
        .await?;
    let last = sql("SELECT hash FROM audit_entry WHERE seq = $1").bind(seq - 1).fetch_optional(tx).await?;
    let previous = crate::decode::decode_row(last, "audit_entry", |row| row.parse("hash"))?;
    let entry = AuditEntry::chain(seq, at, record, previous.unwrap_or_else(first_hash));
    table::insert(tx, &[AuditRow::from(entry)])?.execute(tx).await?;
    Ok(())
}
