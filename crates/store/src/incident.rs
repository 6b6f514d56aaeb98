//! Incidents, and the failures that are not part of one yet.

use std::collections::BTreeMap;

use domain::incident::{Incident, IncidentQuery, IncidentState, PendingFailure};
use domain::page::Page;
use domain::{ClusterId, IncidentId, ProjectId, Timestamp, WorkloadId};

use crate::decode::{decode_page, decode_row, decode_rows};
use crate::page_bytes::{PageLimit, TEXTS_PAGE_BYTES, byte_length, find_fitting_rows};
use crate::queue::INCIDENTS;
use crate::sql::{Sql, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx, cursor};

mod observation;

pub use observation::{FailingRelease, list_failing_releases};

const TABLE: &str = "incident";

/// An incident with its project.
struct IncidentRow<'i> {
    project: ProjectId,
    incident: &'i Incident,
}

table_row! {
    IncidentRow<'_> as row in "incident" => Incident;
    Key id = row.incident.id.to_string() => id: parse;
    Fixed project_id = row.project.to_string();
    Fixed workload_id = row.incident.workload.to_string() => workload: parse;
    Fixed workload_name = &row.incident.workload_name => workload_name: text;
    Fixed cause_key = row.incident.cause.key();
    Fixed cause = to_json(&row.incident.cause)? => cause: json;
    Mutable clusters = to_json(&row.incident.clusters)? => clusters: json;
    Fixed preceding_change = row.incident.preceding_change.as_ref().map(to_json).transpose()? => preceding_change: opt_json;
    Fixed opened_at = row.incident.opened_at => opened_at: timestamp;
    Mutable changed_at = row.incident.changed_at => changed_at: timestamp;
    Mutable closed_at = row.incident.closed_at => closed_at: opt_timestamp;
    Mutable acknowledged_by = row.incident.acknowledged_by.clone() => acknowledged_by: opt_text;
    Mutable acknowledged_at = row.incident.acknowledged_at => acknowledged_at: opt_timestamp;
}

fn select() -> Sql {
    table::select_from::<IncidentRow<'_>>().push(" WHERE ")
}

/// Adds an incident. [`Error::AlreadyExists`] if one of the workload with the same cause is open.
pub async fn insert(tx: &mut Tx, project: ProjectId, incident: &Incident) -> Result<(), Error> {
    table::insert(tx, &[IncidentRow { project, incident }])?.execute(tx).await.map(drop)
}

/// Writes the clusters of an incident, its acknowledgement and whether it is closed.
pub async fn update(tx: &mut Tx, project: ProjectId, incident: &Incident) -> Result<(), Error> {
    let update = table::update(tx, &IncidentRow { project, incident })?;
    update.push(" WHERE id = ").push_bind(incident.id.to_string()).execute(tx).await.map(drop)
}

/// The incident with this id, locked until the transaction ends.
pub async fn get(tx: &mut Tx, project: ProjectId, id: IncidentId) -> Result<Option<Incident>, Error> {
    let statement = select().push("id = $1 AND project_id = $2").bind_text(id).bind_text(project);
    decode_row(statement.push_locking_clause(tx).fetch_optional(tx).await?, TABLE, read_row)
}

/// The open incidents of a workload, locked until the transaction ends.
pub async fn list_open(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<Incident>, Error> {
    let statement = select().push("workload_id = $1 AND closed_at IS NULL ORDER BY id").bind_text(workload);
    decode_rows(&statement.push_locking_clause(tx).fetch_all(tx).await?, TABLE, read_row)
}

/// Number of open incidents of a project.
pub async fn count_open(tx: &mut Tx, project: ProjectId) -> Result<u32, Error> {
    let count = sql("SELECT COUNT(*) FROM incident WHERE project_id = $1 AND closed_at IS NULL");
    Ok(u32::try_from(count.bind_text(project).fetch_number(tx).await?).unwrap_or(u32::MAX))
}

/// One page of incidents, newest first.
pub async fn list(tx: &mut Tx, project: ProjectId, query: &IncidentQuery) -> Result<Page<Incident>, Error> {
    let before = cursor::decode(TABLE, 1, query.cursor.as_deref())?;
    // Ids are ULIDs: every one sorts before this.
    let before = before.map_or_else(|| "~".to_owned(), |mut parts| parts.remove(0));
    let filter = |statement: Sql| {
        let statement = statement.push("project_id = ").push_bind(project.to_string());
        let statement = match query.workload.as_str() {
            "" => statement,
            name => statement.push(" AND workload_name = ").push_bind(name.to_owned()),
        };
        match query.state {
            None => statement,
            Some(IncidentState::Open) => statement.push(" AND closed_at IS NULL"),
            Some(IncidentState::Closed) => statement.push(" AND closed_at IS NOT NULL"),
        }
    };
    let total = filter(sql("SELECT COUNT(*) FROM incident WHERE ")).fetch_number(tx).await?;
    let first = |statement: Sql, count: i64| {
        let statement = filter(statement).push(" AND id < ").push_bind(before.clone());
        statement.push(" ORDER BY id DESC LIMIT ").push_bind(count)
    };
    let bytes = byte_length(&["cause", "clusters", "preceding_change"]);
    let sizes = sql("SELECT id, ").push(&bytes).push(" AS bytes FROM incident WHERE ");
    let limit = PageLimit { rows: query.limit(), bytes: TEXTS_PAGE_BYTES };
    let sizes = first(sizes, i64::from(limit.rows) + 1);
    let fitting = find_fitting_rows(tx, sizes, limit, |row| row.text("id")).await?;
    let rows = first(select(), i64::from(fitting.count)).fetch_all(tx).await?;
    let placed = decode_page(&rows, TABLE, |row| row.text("id"), read_row);
    let next = placed.last().filter(|_| fitting.has_more).map(|(id, _)| cursor::encode(TABLE, &[id]));
    let items = placed.into_iter().filter_map(|(_, incident)| incident).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// The pending failures of a workload.
pub async fn list_pending(
    tx: &mut Tx,
    workload: WorkloadId,
) -> Result<BTreeMap<ClusterId, PendingFailure>, Error> {
    let rows = sql("SELECT workload_id, cluster_id, failure FROM pending_failure WHERE workload_id = $1")
        .bind_text(workload)
        .fetch_all(tx)
        .await?;
    let read =
        decode_rows(&rows, "pending_failure", |row| Ok((row.parse("cluster_id")?, row.json("failure")?)))?;
    Ok(read.into_iter().collect())
}

/// Replaces the pending failures of a workload; writes only those that differ from `before`.
pub async fn replace_pending(
    tx: &mut Tx,
    workload: WorkloadId,
    before: &BTreeMap<ClusterId, PendingFailure>,
    after: &BTreeMap<ClusterId, PendingFailure>,
) -> Result<(), Error> {
    let removed: Vec<&ClusterId> = before.keys().filter(|id| !after.contains_key(id)).collect();
    for some in removed.chunks(500) {
        let delete =
            sql("DELETE FROM pending_failure WHERE workload_id = $1 AND cluster_id IN ").bind_text(workload);
        delete.push_list(some).execute(tx).await?;
    }
    for (cluster, failure) in after.iter().filter(|(id, failure)| before.get(id) != Some(failure)) {
        sql("INSERT INTO pending_failure (workload_id, cluster_id, failure) VALUES ($1, $2, $3) \
             ON CONFLICT (workload_id, cluster_id) DO UPDATE SET failure = excluded.failure")
        .bind_text(workload)
        .bind_text(cluster)
        .bind(to_json(failure)?)
        .execute(tx)
        .await?;
    }
    Ok(())
}

/// Marks the workloads whose releases fail, and those that are tracked and whose releases changed otherwise; the commit writes the marks.
/// Returns whether any is marked.
pub(crate) async fn flush_marks(tx: &mut Tx) -> Result<bool, Error> {
    let marks = std::mem::take(&mut tx.incident_marks);
    let Some(at) = marks.values().map(|mark| mark.at).max() else { return Ok(false) };
    let ids: Vec<WorkloadId> = marks.keys().copied().collect();
    let mut tracked: BTreeMap<WorkloadId, bool> = BTreeMap::new();
    for some in ids.chunks(500) {
        let rows = sql("SELECT workload_id, tracked FROM incident_queue WHERE workload_id IN ")
            .push_list(some)
            .fetch_all(tx)
            .await?;
        tracked.extend(decode_rows(&rows, "incident_queue", |row| {
            Ok((row.parse("workload_id")?, row.flag("tracked")?))
        })?);
    }
    let mut due: Vec<WorkloadId> = Vec::new();
    for (workload, mark) in marks {
        if mark.is_failing && !tracked.contains_key(&workload) {
            insert_queue_row(tx, workload, at).await?;
        }
        if mark.is_failing || tracked.get(&workload) == Some(&true) {
            due.push(workload);
        }
    }
    INCIDENTS.mark(tx, &due, at).await?;
    Ok(!due.is_empty())
}

/// Inserts the row of a workload that a server of the previous release created, unless it was deleted.
async fn insert_queue_row(tx: &mut Tx, workload: WorkloadId, at: Timestamp) -> Result<(), Error> {
    sql("INSERT INTO incident_queue (workload_id, dirty_epoch, marked_at, claimed, claim_epoch, claimed_dirty_epoch, attempts) \
         SELECT id, 0, $1, 0, 0, 0, 0 FROM workload WHERE id = $2 ON CONFLICT (workload_id) DO NOTHING")
    .bind(at.millis())
    .bind_text(workload)
    .execute(tx)
    .await
    .map(drop)
}

/// Records whether anything of a workload is tracked, so that every change of the state of its releases is a mark.
pub async fn set_tracked(tx: &mut Tx, workload: WorkloadId, is_tracked: bool) -> Result<(), Error> {
    sql("UPDATE incident_queue SET tracked = $1 WHERE workload_id = $2 AND tracked <> $1")
        .bind(i64::from(is_tracked))
        .bind_text(workload)
        .execute(tx)
        .await
        .map(drop)
}
