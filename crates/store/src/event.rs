//! The log of what happened: append-only, with positions from which a reader resumes (`Last-Event-ID`).
//!
//! A reader that has seen position n must never find a smaller one later. Sequences of PostgreSQL don't give that: they
//! hand numbers out before the transactions commit, in whatever order those do. So positions come from a row that stays
//! locked from the moment they are taken until the commit, and they are taken last, in `Tx::commit`: appending
//! transactions wait for each other only for the time of a commit, and never in a circle. Reading only below the oldest
//! transaction under way would avoid that wait, but one idle transaction would stop every reader, and `NOTIFY`
//! serialises the commits anyway.

use domain::event::{Event, NewEvent};
use domain::{ClusterId, Timestamp, WorkloadId};

use crate::record::{Record, Why, all};
use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// Events given in one call at most.
const MOST: u32 = 1000;

const SELECT: &str = "SELECT seq, at, kind, severity, workload_id, workload_name, cluster_id, cluster_name, \
     release_id, actor, message FROM event WHERE ";

/// Which events to list, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Only those before this position.
    pub before: Option<i64>,
    /// Only those of this workload.
    pub workload: Option<WorkloadId>,
    /// Only those of this cluster.
    pub cluster: Option<ClusterId>,
    /// At most this many, and never more than 1000.
    pub limit: u32,
}

/// Appends events when the transaction commits; their last position comes with [`crate::Committed`]. Until then nobody
/// sees them, the transaction itself included.
pub async fn append(tx: &mut Tx, events: &[NewEvent], at: Timestamp) -> Result<(), Error> {
    tx.events.extend(events.iter().map(|event| (event.clone(), at)));
    Ok(())
}

/// The events after this position, oldest first.
pub async fn after(tx: &mut Tx, seq: i64, limit: u32) -> Result<Vec<Event>, Error> {
    let some = sql(SELECT).push("seq > $1 ORDER BY seq LIMIT $2").bind(seq).bind(i64::from(limit.min(MOST)));
    Ok(all(&some.rows(tx).await?, "event", read))
}

/// Events, newest first.
pub async fn list(tx: &mut Tx, query: &EventQuery) -> Result<Vec<Event>, Error> {
    let mut some = sql(SELECT).push("seq < $1").bind(query.before.unwrap_or(i64::MAX));
    if let Some(workload) = query.workload {
        some = some.push(" AND workload_id = ").put(workload.to_string());
    }
    if let Some(cluster) = query.cluster {
        some = some.push(" AND cluster_id = ").put(cluster.to_string());
    }
    let rows = some.push(" ORDER BY seq DESC LIMIT ").put(i64::from(query.limit.min(MOST))).rows(tx).await?;
    Ok(all(&rows, "event", read))
}

/// Position of the newest event; 0 if there was never one.
pub async fn last_seq(tx: &mut Tx) -> Result<i64, Error> {
    sql("SELECT value FROM counter WHERE name = 'event'").number(tx).await
}

/// Forgets what happened before `at`; returns how many.
pub async fn delete_before(tx: &mut Tx, at: Timestamp) -> Result<u64, Error> {
    sql("DELETE FROM event WHERE at < $1").bind(at.millis()).run(tx).await
}

/// At the commit, last of all: takes positions and writes.
pub(crate) async fn flush(tx: &mut Tx) -> Result<Option<i64>, Error> {
    let events = std::mem::take(&mut tx.events);
    if events.is_empty() {
        return Ok(None);
    }
    let take = "UPDATE counter SET value = value + $1 WHERE name = 'event' RETURNING value";
    let last = sql(take).bind(events.len() as i64).number(tx).await?;
    let first = last - events.len() as i64 + 1;
    for (n, some) in events.chunks(50).enumerate() {
        let mut insert =
            sql("INSERT INTO event (seq, at, kind, severity, workload_id, workload_name, cluster_id, \
                              cluster_name, release_id, actor, message) VALUES ");
        for (m, (event, at)) in some.iter().enumerate() {
            insert = insert.push(if m == 0 { "(" } else { ", (" });
            insert = values(insert, first + (n * 50 + m) as i64, event, *at).push(")");
        }
        insert.run(tx).await?;
    }
    Ok(Some(last))
}

fn values(insert: Sql, seq: i64, event: &NewEvent, at: Timestamp) -> Sql {
    let (workload, cluster) = (event.workload.as_ref(), event.cluster.as_ref());
    insert
        .put(seq)
        .push(", ")
        .put(at.millis())
        .push(", ")
        .put(event.kind.word())
        .push(", ")
        .put(event.severity.word().to_owned())
        .push(", ")
        .put(workload.map(|(id, _)| id.to_string()))
        .push(", ")
        .put(workload.map(|(_, name)| name.clone()).unwrap_or_default())
        .push(", ")
        .put(cluster.map(|(id, _)| id.to_string()))
        .push(", ")
        .put(cluster.map(|(_, name)| name.clone()).unwrap_or_default())
        .push(", ")
        .put(event.release.map(|id| id.to_string()))
        .push(", ")
        .put(event.actor.clone())
        .push(", ")
        .put(event.message.clone())
}

fn read(row: &Record<'_>) -> Result<Event, Why> {
    Ok(Event {
        seq: row.int("seq")?,
        at: row.at("at")?,
        kind: row.word("kind")?,
        severity: row.word("severity")?,
        workload: row.opt_parse("workload_id")?,
        workload_name: row.text("workload_name")?,
        cluster: row.opt_parse("cluster_id")?,
        cluster_name: row.text("cluster_name")?,
        release: row.opt_parse("release_id")?,
        actor: row.text("actor")?,
        message: row.text("message")?,
    })
}
