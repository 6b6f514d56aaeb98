//! Workloads with their drafts.

use domain::workload::{Workload, WorkloadSpec};
use domain::{ProjectId, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_row, decode_rows};
use crate::label::{self, LabelOwner};
use crate::queue::PLACER;
use crate::sql::{like_pattern, sql, to_json};
use crate::{Error, Tx};

mod list;
mod lock;

pub use list::{WorkloadOrder, list};
pub use lock::lock_revision;

const SELECT: &str = "SELECT id, project_id, name, labels, intent, published_revision, draft_changed, created_by, created_at, \
     updated_at, revision, draft FROM workload WHERE ";

/// Adds a workload, not due for the placer. [`Error::AlreadyExists`] if the name is taken in its project.
pub async fn insert(tx: &mut Tx, workload: &Workload) -> Result<(), Error> {
    sql("INSERT INTO workload (id, project_id, name, namespace, labels, intent, published_revision, draft_changed, created_by, \
         updated_by, created_at, updated_at, revision, draft) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, $11, $12, $13)")
    .bind_text(workload.id)
    .bind_text(workload.project)
    .bind_text(&workload.name)
    .bind_text(&workload.draft.namespace)
    .bind(to_json(&workload.labels)?)
    .bind_text(workload.intent.as_str())
    .bind(workload.published.map(i64::from))
    .bind(i64::from(workload.draft_changed))
    .bind_text(&workload.created_by)
    .bind(workload.created_at.millis())
    .bind(workload.updated_at.millis())
    .bind(workload.revision)
    .bind(to_json(&workload.draft)?)
    .execute(tx)
    .await?;
    PLACER.insert_row(tx, workload.id, workload.created_at).await?;
    label::replace_labels(tx, LabelOwner::Workload, &workload.id.to_string(), &workload.labels).await
}

/// Writes everything but name, project and creation, if the row still has `expected_revision`; returns whether it
/// had.
pub async fn update(
    tx: &mut Tx,
    workload: &Workload,
    expected_revision: i64,
    updated_by: &str,
) -> Result<bool, Error> {
    let changed =
        sql("UPDATE workload SET namespace = $1, labels = $2, intent = $3, published_revision = $4, \
                       draft_changed = $5, updated_by = $6, updated_at = $7, revision = $8, draft = $9 \
                       WHERE id = $10 AND revision = $11")
        .bind_text(&workload.draft.namespace)
        .bind(to_json(&workload.labels)?)
        .bind_text(workload.intent.as_str())
        .bind(workload.published.map(i64::from))
        .bind(i64::from(workload.draft_changed))
        .bind_text(updated_by)
        .bind(workload.updated_at.millis())
        .bind(workload.revision)
        .bind(to_json(&workload.draft)?)
        .bind_text(workload.id)
        .bind(expected_revision)
        .execute(tx)
        .await?;
    if changed == 1 {
        label::replace_labels(tx, LabelOwner::Workload, &workload.id.to_string(), &workload.labels).await?;
    }
    Ok(changed == 1)
}

/// The workload with this name.
pub async fn get_by_name(tx: &mut Tx, project: ProjectId, name: &str) -> Result<Option<Workload>, Error> {
    let row = sql(SELECT)
        .push("project_id = $1 AND name = $2")
        .bind_text(project)
        .bind_text(name)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "workload", read)
}

/// The workload with this id.
pub async fn get_by_id(tx: &mut Tx, id: WorkloadId) -> Result<Option<Workload>, Error> {
    decode_row(sql(SELECT).push("id = $1").bind_text(id).fetch_optional(tx).await?, "workload", read)
}

/// Deletes a workload with its revisions, decisions and releases, but not its events. Returns whether it existed.
pub async fn delete(tx: &mut Tx, id: WorkloadId) -> Result<bool, Error> {
    tx.count_deltas.retain(|(workload, _), _| *workload != id);
    Ok(sql("DELETE FROM workload WHERE id = $1").bind_text(id).execute(tx).await? == 1)
}

/// Names of the workloads whose draft or published revision references this cluster group, in a placement, an
/// override or a rollout.
pub async fn list_names_by_group(tx: &mut Tx, group: &str) -> Result<Vec<String>, Error> {
    // The match of the text only narrows the rows down; the references are checked below.
    let rows = sql("SELECT w.name, w.draft AS spec FROM workload w WHERE w.draft LIKE $1 ESCAPE '\\' UNION ALL \
         SELECT w.name, r.spec FROM workload w JOIN revision r ON r.workload_id = w.id AND r.number = w.published_revision \
         WHERE w.intent = 'published' AND r.spec LIKE $1 ESCAPE '\\' ORDER BY 1")
    .bind_text(like_pattern(&format!("\"{group}\"")))
    .fetch_all(tx)
    .await?;
    let found =
        decode_rows(&rows, "workload", |row| Ok((row.text("name")?, row.json::<WorkloadSpec>("spec")?)))?;
    let mut names: Vec<String> =
        found.into_iter().filter(|(_, spec)| references_group(spec, group)).map(|(name, _)| name).collect();
    names.dedup();
    Ok(names)
}

fn references_group(spec: &WorkloadSpec, group: &str) -> bool {
    let named = |groups: &[String]| groups.iter().any(|one| one == group);
    spec.placement.predicates.iter().any(|predicate| named(&predicate.groups))
        || spec.overrides.iter().any(|over| named(&over.target.groups))
        || spec.rollout.waves.iter().any(|wave| named(&wave.target.groups))
}

/// How many workloads a project has.
pub async fn count(tx: &mut Tx, project: ProjectId) -> Result<u32, Error> {
    let n = sql("SELECT COUNT(*) FROM workload WHERE project_id = $1")
        .bind_text(project)
        .fetch_number(tx)
        .await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}

fn read(row: &RowReader<'_>) -> Result<Workload, DecodeError> {
    Ok(Workload {
        id: row.parse("id")?,
        project: row.parse("project_id")?,
        name: row.text("name")?,
        labels: row.json("labels")?,
        draft: row.json("draft")?,
        intent: row.enum_value("intent")?,
        published: row.opt_count("published_revision")?,
        draft_changed: row.flag("draft_changed")?,
        created_by: row.text("created_by")?,
        created_at: row.timestamp("created_at")?,
        updated_at: row.timestamp("updated_at")?,
        revision: row.int("revision")?,
    })
}
