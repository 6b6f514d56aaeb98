//! The event log: append-only, with positions from which a reader resumes (`Last-Event-ID`).
//!
//! A reader that has read position n must never find a smaller one later. Sequences of PostgreSQL do not guarantee
//! that: they assign numbers before the transactions commit, in any order. So positions come from a row that stays
//! locked from their allocation until the commit, and they are allocated last, in `Tx::commit`: appending
//! transactions wait for each other only for the time of a commit, and cannot deadlock. Reading only below the oldest
//! open transaction would avoid that wait, but one idle transaction would block every reader, and `NOTIFY` serialises
//! the commits anyway.

use domain::event::{Event, EventDetail, EventKind, NewEvent};
use domain::{ClusterId, Timestamp, WorkloadId};

use crate::decode::decode_readable_rows;
use crate::page_bytes::{PageLimit, VALUES_PAGE_BYTES, byte_length, find_fitting_rows};
use crate::redaction::push_marks;
use crate::sealed::columns;
use crate::sql::{Sql, StoredRow, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// Maximum number of events per call.
const LIMIT_MAX: u32 = 1000;

/// A new event at its position.
struct EventRow<'e> {
    seq: i64,
    event: &'e NewEvent,
    at: Timestamp,
}

table_row! {
    EventRow<'_> as row in "event" => Event;
    Key seq = row.seq => seq: int;
    Fixed created_at = row.at => at: timestamp;
    Fixed kind = row.event.kind.to_json_name() => kind: enum_value;
    Fixed severity = row.event.severity.as_str() => severity: enum_value;
    Fixed workload_id = row.event.subject.workload.as_ref().map(|(id, _)| id.to_string()) => workload: opt_parse;
    Fixed workload_name = row.event.subject.workload.as_ref().map_or("", |(_, name)| name) => workload_name: text;
    Fixed cluster_id = row.event.subject.cluster.as_ref().map(|(id, _)| id.to_string()) => cluster: opt_parse;
    Fixed cluster_name = row.event.subject.cluster.as_ref().map_or("", |(_, name)| name) => cluster_name: text;
    Fixed release_id = row.event.subject.release.map(|id| id.to_string()) => release: opt_parse;
    Fixed actor = &row.event.actor => actor: text;
    Fixed message = &row.event.message => message: text;
    Fixed detail = row.event.detail.as_ref().map(to_json).transpose()? => detail: opt_json;
}

/// Which events to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Only those before this position.
    pub before: Option<i64>,
    /// Only those of this workload.
    pub workload: Option<WorkloadId>,
    /// Only those of this cluster.
    pub cluster: Option<ClusterId>,
    /// At most this many, and never more than 1000.
    pub limit: u32,
}

impl EventFilter {
    /// Adds the conditions to a statement.
    fn push_to(&self, statement: Sql) -> Sql {
        let mut some = statement.push(" WHERE seq < ").push_bind(self.before.unwrap_or(i64::MAX));
        if let Some(workload) = self.workload {
            some = some.push(" AND workload_id = ").push_bind(workload.to_string());
        }
        if let Some(cluster) = self.cluster {
            some = some.push(" AND cluster_id = ").push_bind(cluster.to_string());
        }
        some
    }
}

/// Events, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListedEvents {
    /// Those of the page: fewer than the limit where they have many bytes, and at least one if there is one.
    pub events: Vec<Event>,
    /// The position before which the next page begins; `None` if no older event matches.
    pub next: Option<i64>,
}

/// Appends events at the commit, which returns their last position ([`crate::CommitOutcome`]). Before, they are not
/// visible, not even in this transaction. What exceeds the limits of [`domain::event`] is cut; the audit log has it complete.
pub async fn append(tx: &mut Tx, events: &[NewEvent], at: Timestamp) -> Result<(), Error> {
    tx.pending_events.extend(events.iter().map(|event| (event.clone(), at)));
    Ok(())
}

/// The position of each event, and the bytes that reading it needs.
fn select_sizes() -> Sql {
    let bytes = byte_length(&["actor", "message", "detail"]);
    sql("SELECT seq, ").push(&bytes).push(" AS bytes FROM event")
}

/// The readable ones of these rows. Those that were stored before there were limits are cut.
fn decode_events(rows: &[StoredRow]) -> Vec<Event> {
    decode_readable_rows(rows, "event", |row| read_row(row).map(Event::truncated))
}

/// The events after this position, oldest first; fewer than the limit where they have many bytes. One that can't be read is left out.
pub async fn list_after(tx: &mut Tx, seq: i64, limit: u32) -> Result<Vec<Event>, Error> {
    let limit = PageLimit { rows: limit.min(LIMIT_MAX), bytes: VALUES_PAGE_BYTES };
    let sizes = select_sizes()
        .push(" WHERE seq > $1 ORDER BY seq LIMIT $2")
        .bind(seq)
        .bind(i64::from(limit.rows) + 1);
    let Some((first, last)) = find_fitting_rows(tx, sizes, limit, |row| row.int("seq")).await?.ends else {
        return Ok(Vec::new());
    };
    let some = table::select_from::<EventRow<'_>>()
        .push(" WHERE seq BETWEEN $1 AND $2 ORDER BY seq")
        .bind(first)
        .bind(last);
    Ok(decode_events(&some.fetch_all(tx).await?))
}

/// The same without actors, messages and details: what happened, and to what.
pub async fn list_changes_after(tx: &mut Tx, seq: i64, limit: u32) -> Result<Vec<Event>, Error> {
    let some = sql("SELECT seq, created_at, kind, severity, workload_id, workload_name, cluster_id, cluster_name, release_id, \
         '' AS actor, '' AS message, CAST(NULL AS TEXT) AS detail FROM event WHERE seq > $1 ORDER BY seq LIMIT $2")
        .bind(seq)
        .bind(i64::from(limit.min(LIMIT_MAX)));
    Ok(decode_events(&some.fetch_all(tx).await?))
}

/// Events, newest first.
pub async fn list(tx: &mut Tx, query: &EventFilter) -> Result<ListedEvents, Error> {
    let limit = PageLimit { rows: query.limit.min(LIMIT_MAX), bytes: VALUES_PAGE_BYTES };
    let sizes =
        query.push_to(select_sizes()).push(" ORDER BY seq DESC LIMIT ").push_bind(i64::from(limit.rows) + 1);
    let page = find_fitting_rows(tx, sizes, limit, |row| row.int("seq")).await?;
    let Some((first, last)) = page.ends else { return Ok(ListedEvents::default()) };
    let rows = query
        .push_to(table::select_from::<EventRow<'_>>())
        .push(" AND seq BETWEEN ")
        .push_bind(last)
        .push(" AND ")
        .push_bind(first)
        .push(" ORDER BY seq DESC")
        .fetch_all(tx)
        .await?;
    Ok(ListedEvents { events: decode_events(&rows), next: page.has_more.then_some(last) })
}

/// Events after this position that may have values which servers of earlier versions have stored: those of drift, and those whose message
/// has one of these texts. Oldest first, with the position of the last one, which may be unreadable; `None` if there is no more.
pub async fn list_with_values(
    tx: &mut Tx,
    after: i64,
    marks: &[&str],
    limit: u32,
) -> Result<(Vec<Event>, Option<i64>), Error> {
    let kinds = [EventKind::DriftFound, EventKind::DriftHealed].map(EventKind::to_json_name);
    let some = table::select_from::<EventRow<'_>>().push(" WHERE seq > ").push_bind(after);
    let some = some.push(" AND (kind IN ").push_list(&kinds).push(" OR ");
    let some = push_marks(some, "message", marks).push(") ORDER BY seq LIMIT ").push_bind(i64::from(limit));
    let rows = some.fetch_all(tx).await?;
    let positions = decode_readable_rows(&rows, "event", |row| row.int("seq"));
    Ok((decode_events(&rows), positions.last().copied()))
}

/// Replaces the message and the detail of the event at this position.
pub async fn replace_content(
    tx: &mut Tx,
    seq: i64,
    message: &str,
    detail: Option<&EventDetail>,
) -> Result<(), Error> {
    let mut detail = detail.map(to_json).transpose()?;
    if let Some(column) = columns::find("event", "detail") {
        detail = detail.map(|text| tx.seal_text(column, &[seq.to_string()], text));
    }
    sql("UPDATE event SET message = $1, detail = $2 WHERE seq = $3")
        .bind_text(message)
        .bind(detail)
        .bind(seq)
        .execute(tx)
        .await
        .map(drop)
}

/// The newest event of this kind about a workload, at this time or later.
pub async fn get_latest_of_kind(
    tx: &mut Tx,
    workload: WorkloadId,
    kind: EventKind,
    since: Timestamp,
) -> Result<Option<Event>, Error> {
    let rows = table::select_from::<EventRow<'_>>()
        .push(" WHERE workload_id = $1 AND kind = $2 AND created_at >= $3 ORDER BY seq DESC LIMIT 1")
        .bind(workload.to_string())
        .bind(kind.to_json_name())
        .bind(since.millis())
        .fetch_all(tx)
        .await?;
    Ok(decode_events(&rows).pop())
}

/// The latest change of a cluster by a user, or of its version, until `until`.
pub async fn get_latest_cluster_change(
    tx: &mut Tx,
    cluster: ClusterId,
    until: Timestamp,
) -> Result<Option<Event>, Error> {
    // The condition on the kinds is that of the index `event_cluster_change`.
    let rows = table::select_from::<EventRow<'_>>()
        .push(
            " WHERE cluster_id = $1 AND kind IN ('clusterEdited', 'clusterFacts') AND created_at <= $2 ORDER BY seq DESC LIMIT 1",
        )
        .bind(cluster.to_string())
        .bind(until.millis())
        .fetch_all(tx)
        .await?;
    Ok(decode_events(&rows).pop())
}

/// Position of the newest event; 0 if there was never one.
pub async fn last_seq(tx: &mut Tx) -> Result<i64, Error> {
    sql("SELECT value FROM counter WHERE name = 'event'").fetch_number(tx).await
}

/// Allocates positions and writes the events, as the last step of a commit.
pub(crate) async fn flush(tx: &mut Tx) -> Result<Option<i64>, Error> {
    let events = std::mem::take(&mut tx.pending_events);
    if events.is_empty() {
        return Ok(None);
    }
    let events: Vec<(NewEvent, Timestamp)> =
        events.into_iter().map(|(event, at)| (event.truncated(), at)).collect();
    let allocate = "UPDATE counter SET value = value + $1 WHERE name = 'event' RETURNING value";
    let last = sql(allocate).bind(events.len() as i64).fetch_number(tx).await?;
    let first = last - events.len() as i64 + 1;
    for (n, some) in events.chunks(50).enumerate() {
        let start = first + (n * 50) as i64;
        let rows: Vec<EventRow<'_>> =
            (start..).zip(some).map(|(seq, (event, at))| EventRow { seq, event, at: *at }).collect();
        table::insert(tx, &rows)?.execute(tx).await?;
    }
    Ok(Some(last))
}
