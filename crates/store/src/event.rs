//! The event log: append-only, with positions from which a reader resumes (`Last-Event-ID`).
//!
//! A reader that has read position n must never find a smaller one later. Sequences of PostgreSQL do not guarantee
//! that: they assign numbers before the transactions commit, in any order. So positions come from a row that stays
//! locked from their allocation until the commit, and they are allocated last, in `Tx::commit`: appending
//! transactions wait for each other only for the time of a commit, and cannot deadlock. Reading only below the oldest
//! open transaction would avoid that wait, but one idle transaction would block every reader, and `NOTIFY` serialises
//! the commits anyway.

use domain::event::{Event, NewEvent};
use domain::{ClusterId, Timestamp, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_readable_rows};
use crate::sql::{Sql, sql, to_json};
use crate::{Error, Tx};

/// Maximum number of events per call.
const LIMIT_MAX: u32 = 1000;

const SELECT: &str = "SELECT seq, created_at, kind, severity, workload_id, workload_name, cluster_id, cluster_name, \
     release_id, actor, message, detail FROM event WHERE ";

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

/// Appends events at the commit, which returns their last position ([`crate::CommitOutcome`]). Before, they are not
/// visible, not even in this transaction.
pub async fn append(tx: &mut Tx, events: &[NewEvent], at: Timestamp) -> Result<(), Error> {
    tx.pending_events.extend(events.iter().map(|event| (event.clone(), at)));
    Ok(())
}

/// The events after this position, oldest first.
pub async fn list_after(tx: &mut Tx, seq: i64, limit: u32) -> Result<Vec<Event>, Error> {
    let some =
        sql(SELECT).push("seq > $1 ORDER BY seq LIMIT $2").bind(seq).bind(i64::from(limit.min(LIMIT_MAX)));
    Ok(decode_readable_rows(&some.fetch_all(tx).await?, "event", read))
}

/// Events, newest first.
pub async fn list(tx: &mut Tx, query: &EventFilter) -> Result<Vec<Event>, Error> {
    let mut some = sql(SELECT).push("seq < $1").bind(query.before.unwrap_or(i64::MAX));
    if let Some(workload) = query.workload {
        some = some.push(" AND workload_id = ").push_bind(workload.to_string());
    }
    if let Some(cluster) = query.cluster {
        some = some.push(" AND cluster_id = ").push_bind(cluster.to_string());
    }
    let rows = some
        .push(" ORDER BY seq DESC LIMIT ")
        .push_bind(i64::from(query.limit.min(LIMIT_MAX)))
        .fetch_all(tx)
        .await?;
    Ok(decode_readable_rows(&rows, "event", read))
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
    let allocate = "UPDATE counter SET value = value + $1 WHERE name = 'event' RETURNING value";
    let last = sql(allocate).bind(events.len() as i64).fetch_number(tx).await?;
    let first = last - events.len() as i64 + 1;
    for (n, some) in events.chunks(50).enumerate() {
        let mut insert = sql(
            "INSERT INTO event (seq, created_at, kind, severity, workload_id, workload_name, cluster_id, \
                              cluster_name, release_id, actor, message, detail) VALUES ",
        );
        for (m, (event, at)) in some.iter().enumerate() {
            insert = insert.push(if m == 0 { "(" } else { ", (" });
            insert = push_values(insert, first + (n * 50 + m) as i64, event, *at)?.push(")");
        }
        insert.execute(tx).await?;
    }
    Ok(Some(last))
}

fn push_values(insert: Sql, seq: i64, event: &NewEvent, at: Timestamp) -> Result<Sql, Error> {
    let detail = event.detail.as_ref().map(to_json).transpose()?;
    let (workload, cluster) = (event.subject.workload.as_ref(), event.subject.cluster.as_ref());
    Ok(insert
        .push_bind(seq)
        .push(", ")
        .push_bind(at.millis())
        .push(", ")
        .push_bind(event.kind.to_json_name())
        .push(", ")
        .push_bind(event.severity.as_str().to_owned())
        .push(", ")
        .push_bind(workload.map(|(id, _)| id.to_string()))
        .push(", ")
        .push_bind(workload.map(|(_, name)| name.clone()).unwrap_or_default())
        .push(", ")
        .push_bind(cluster.map(|(id, _)| id.to_string()))
        .push(", ")
        .push_bind(cluster.map(|(_, name)| name.clone()).unwrap_or_default())
        .push(", ")
        .push_bind(event.subject.release.map(|id| id.to_string()))
        .push(", ")
        .push_bind(event.actor.clone())
        .push(", ")
        .push_bind(event.message.clone())
        .push(", ")
        .push_bind(detail))
}

fn read(row: &RowReader<'_>) -> Result<Event, DecodeError> {
    Ok(Event {
        seq: row.int("seq")?,
        at: row.timestamp("created_at")?,
        kind: row.enum_value("kind")?,
        severity: row.enum_value("severity")?,
        workload: row.opt_parse("workload_id")?,
        workload_name: row.text("workload_name")?,
        cluster: row.opt_parse("cluster_id")?,
        cluster_name: row.text("cluster_name")?,
        release: row.opt_parse("release_id")?,
        actor: row.text("actor")?,
        message: row.text("message")?,
        detail: row.opt_json("detail")?,
    })
}
