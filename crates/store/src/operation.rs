//! Operations on workloads.

use domain::operation::{Operation, OperationCounts, OperationKind, OperationTarget};
use domain::page::{ListQuery, Page};
use domain::{ClusterId, OperationId, Timestamp, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_page, decode_row, decode_rows};
use crate::sql::{Sql, sql, to_json};
use crate::{Error, Tx, cursor};

const TABLE: &str = "operation";

/// An operation with the id of its workload, which may be deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredOperation {
    /// The workload.
    pub workload: WorkloadId,
    /// The operation; its counts are empty while it is open.
    pub operation: Operation,
}

fn select() -> Sql {
    sql(
        "SELECT id, workload_id, workload_name, kind, revision, restored_revision, actor, started_at, closed_at, counts FROM operation WHERE ",
    )
}

fn read_row(row: &RowReader<'_>) -> Result<StoredOperation, DecodeError> {
    let operation = Operation {
        id: row.parse("id")?,
        workload: row.text("workload_name")?,
        kind: row.enum_value("kind")?,
        revision: row.opt_count("revision")?,
        restored_revision: row.opt_count("restored_revision")?,
        actor: row.text("actor")?,
        started_at: row.timestamp("started_at")?,
        closed_at: row.opt_timestamp("closed_at")?,
        counts: row.opt_json::<OperationCounts>("counts")?.unwrap_or_default(),
    };
    Ok(StoredOperation { workload: row.parse("workload_id")?, operation })
}

/// Adds an open operation.
pub async fn insert(tx: &mut Tx, workload: WorkloadId, operation: &Operation) -> Result<(), Error> {
    sql("INSERT INTO operation (id, workload_id, workload_name, kind, revision, restored_revision, actor, started_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
    .bind_text(operation.id)
    .bind_text(workload)
    .bind(operation.workload.clone())
    .bind(operation.kind.as_str().to_owned())
    .bind(operation.revision.map(i64::from))
    .bind(operation.restored_revision.map(i64::from))
    .bind(operation.actor.clone())
    .bind(operation.started_at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// One operation.
pub async fn get(tx: &mut Tx, id: OperationId) -> Result<Option<StoredOperation>, Error> {
    let row = select().push("id = $1").bind_text(id).fetch_optional(tx).await?;
    decode_row(row, TABLE, read_row)
}

/// The open operations of a workload, oldest first: at most one, and those before it that the placer has not closed yet.
pub async fn list_open(tx: &mut Tx, workload: WorkloadId) -> Result<Vec<Operation>, Error> {
    let rows = select()
        .push("workload_id = $1 AND closed_at IS NULL ORDER BY id")
        .bind_text(workload)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, TABLE, |row| read_row(row).map(|stored| stored.operation))
}

/// The latest operation of a workload.
pub async fn get_latest(tx: &mut Tx, workload: WorkloadId) -> Result<Option<Operation>, Error> {
    let row = select()
        .push("workload_id = $1 ORDER BY id DESC LIMIT 1")
        .bind_text(workload)
        .fetch_optional(tx)
        .await?;
    decode_row(row, TABLE, |row| read_row(row).map(|stored| stored.operation))
}

/// Records the outcome of an operation, unless it is closed already.
pub async fn close(
    tx: &mut Tx,
    id: OperationId,
    targets: &[OperationTarget],
    at: Timestamp,
) -> Result<(), Error> {
    sql("UPDATE operation SET closed_at = $1, counts = $2, targets = $3 WHERE id = $4 AND closed_at IS NULL")
        .bind(at.millis())
        .bind(to_json(&OperationCounts::from_targets(targets))?)
        .bind(to_json(&targets)?)
        .bind_text(id)
        .execute(tx)
        .await
        .map(drop)
}

/// Limits an open operation to these clusters; without this it concerns every cluster of its workload.
pub async fn set_scope(tx: &mut Tx, id: OperationId, targets: &[OperationTarget]) -> Result<(), Error> {
    sql("UPDATE operation SET targets = $1 WHERE id = $2 AND closed_at IS NULL")
        .bind(to_json(&targets)?)
        .bind_text(id)
        .execute(tx)
        .await
        .map(drop)
}

/// The clusters that an open operation is limited to; `None` if it is not limited.
pub async fn get_scope(tx: &mut Tx, id: OperationId) -> Result<Option<Vec<ClusterId>>, Error> {
    let row = sql("SELECT targets FROM operation WHERE id = $1").bind_text(id).fetch_optional(tx).await?;
    let targets = decode_row(row, TABLE, |row| row.opt_json::<Vec<OperationTarget>>("targets"))?;
    Ok(targets.flatten().map(|targets| targets.into_iter().map(|target| target.cluster_id).collect()))
}

/// The recorded outcome of a closed operation.
pub async fn get_targets(tx: &mut Tx, id: OperationId) -> Result<Vec<OperationTarget>, Error> {
    let row = sql("SELECT targets FROM operation WHERE id = $1").bind_text(id).fetch_optional(tx).await?;
    let targets = decode_row(row, TABLE, |row| row.opt_json("targets"))?;
    Ok(targets.flatten().unwrap_or_default())
}

/// One page of a workload's operations, newest first.
pub async fn list(tx: &mut Tx, workload: WorkloadId, query: &ListQuery) -> Result<Page<Operation>, Error> {
    let before = cursor::decode(TABLE, 1, query.cursor.as_deref())?;
    // Ids are ULIDs: every one sorts before this.
    let before = before.map_or_else(|| "~".to_owned(), |mut parts| parts.remove(0));
    let total = sql("SELECT COUNT(*) FROM operation WHERE workload_id = $1")
        .bind_text(workload)
        .fetch_number(tx)
        .await?;
    let limit = query.limit();
    let rows = select()
        .push("workload_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3")
        .bind_text(workload)
        .bind(before)
        .bind(i64::from(limit) + 1)
        .fetch_all(tx)
        .await?;
    let mut placed = decode_page(&rows, TABLE, |row| row.text("id"), read_row);
    let next = cursor::truncate_page(&mut placed, limit, |(id, _)| cursor::encode(TABLE, &[id]));
    let items = placed.into_iter().filter_map(|(_, stored)| Some(stored?.operation)).collect();
    Ok(Page { items, next, total: u32::try_from(total).unwrap_or(u32::MAX) })
}

/// The publishes of the revisions from `first` to `last` of a workload.
pub async fn list_publishes(
    tx: &mut Tx,
    workload: WorkloadId,
    first: u32,
    last: u32,
) -> Result<Vec<Operation>, Error> {
    let rows = select()
        .push("workload_id = $1 AND kind = $2 AND revision BETWEEN $3 AND $4 ORDER BY id")
        .bind_text(workload)
        .bind(OperationKind::Publish.as_str().to_owned())
        .bind(i64::from(first))
        .bind(i64::from(last))
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, TABLE, |row| read_row(row).map(|stored| stored.operation))
}

/// The names of the clusters that have a release of the workload.
pub async fn list_cluster_names(
    tx: &mut Tx,
    workload: WorkloadId,
) -> Result<Vec<(ClusterId, String)>, Error> {
    let rows = sql("SELECT c.id, c.name FROM release r JOIN cluster c ON c.id = r.cluster_id \
                    WHERE r.workload_id = $1")
    .bind_text(workload)
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "cluster", |row| Ok((row.parse("id")?, row.text("name")?)))
}
