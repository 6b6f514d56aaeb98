//! Workloads without their drafts: what removals, reports and the loops need. It stays readable if the draft is not.

use domain::workload::{Intent, WorkloadHead};
use domain::{ProjectId, Timestamp, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_readable_rows, decode_row};
use crate::sql::sql;
use crate::{Error, Tx};

const SELECT: &str = "SELECT id, name, intent, published_revision, resource_version FROM workload WHERE ";

/// The workload with this name, without its draft.
pub async fn get_head_by_name(
    tx: &mut Tx,
    project: ProjectId,
    name: &str,
) -> Result<Option<WorkloadHead>, Error> {
    let statement = sql(SELECT).push("project_id = $1 AND name = $2").bind_text(project).bind_text(name);
    decode_row(statement.fetch_optional(tx).await?, "workload", read)
}

/// Those of these workloads that exist and can be read, without their drafts.
pub async fn list_heads_by_names(
    tx: &mut Tx,
    project: ProjectId,
    names: &[String],
) -> Result<Vec<WorkloadHead>, Error> {
    let some = sql(SELECT).push("project_id = $1 AND name IN ").bind_text(project).push_list(names);
    Ok(decode_readable_rows(&some.fetch_all(tx).await?, "workload", read))
}

/// The workload with this id, without its draft.
pub async fn get_head_by_id(tx: &mut Tx, id: WorkloadId) -> Result<Option<WorkloadHead>, Error> {
    let statement = sql(SELECT).push("id = $1").bind_text(id);
    decode_row(statement.fetch_optional(tx).await?, "workload", read)
}

/// The workload with this id, without its draft, locked until the transaction ends.
pub async fn lock_head(tx: &mut Tx, id: WorkloadId) -> Result<Option<WorkloadHead>, Error> {
    let statement = sql(SELECT).push("id = $1").bind_text(id).push_locking_clause(tx);
    decode_row(statement.fetch_optional(tx).await?, "workload", read)
}

/// Locks these workloads until the transaction ends, in the order of ids: call it before more than one of them is changed.
pub async fn lock_many(tx: &mut Tx, ids: &[WorkloadId]) -> Result<(), Error> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    for some in ids.chunks(500) {
        let select = sql("SELECT id FROM workload WHERE id IN ").push_list(some).push(" ORDER BY id");
        select.push_locking_clause(tx).fetch_all(tx).await?;
    }
    Ok(())
}

/// The name of the workload with this id.
pub async fn get_name(tx: &mut Tx, id: WorkloadId) -> Result<Option<String>, Error> {
    let statement = sql("SELECT id, name FROM workload WHERE id = $1").bind_text(id);
    decode_row(statement.fetch_optional(tx).await?, "workload", |row| row.text("name"))
}

/// Writes the intent and the next revision if the row still has the revision of `head`; returns whether it had. No other
/// column is read or written.
pub async fn set_intent(
    tx: &mut Tx,
    head: &WorkloadHead,
    intent: Intent,
    (updated_by, at): (&str, Timestamp),
) -> Result<bool, Error> {
    let changed =
        sql("UPDATE workload SET intent = $1, updated_by = $2, updated_at = $3, resource_version = $4 \
                       WHERE id = $5 AND resource_version = $6")
        .bind_text(intent.as_str())
        .bind_text(updated_by)
        .bind(at.millis())
        .bind(head.revision + 1)
        .bind_text(head.id)
        .bind(head.revision)
        .execute(tx)
        .await?;
    Ok(changed == 1)
}

/// Replaces an intent that this version does not know, so that the workload can be removed; returns whether there was one.
pub async fn replace_unknown_intent(
    tx: &mut Tx,
    project: ProjectId,
    name: &str,
    intent: Intent,
) -> Result<bool, Error> {
    let mut update =
        sql("UPDATE workload SET intent = $1 WHERE project_id = $2 AND name = $3 AND intent NOT IN (")
            .bind_text(intent.as_str())
            .bind_text(project)
            .bind_text(name);
    for (number, known) in Intent::ALL.iter().enumerate() {
        update = if number == 0 { update } else { update.push(", ") };
        update = update.push_bind(known.as_str().to_owned());
    }
    Ok(update.push(")").execute(tx).await? > 0)
}

pub(super) fn read(row: &RowReader<'_>) -> Result<WorkloadHead, DecodeError> {
    Ok(WorkloadHead {
        id: row.parse("id")?,
        name: row.text("name")?,
        intent: row.enum_value("intent")?,
        published: row.opt_count("published_revision")?,
        revision: row.int("resource_version")?,
    })
}
