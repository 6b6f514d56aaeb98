//! Workloads with their drafts.

use domain::notification::IncidentSubject;
use domain::owner::normalize_owners;
use domain::workload::{LatestEdit, Workload, WorkloadHead, WorkloadSpec};
use domain::{ProjectId, WorkloadId};

use crate::admission::admit_column;
use crate::decode::{DecodeError, RowReader, decode_one, decode_row, decode_rows};
use crate::git;
use crate::label::{self, LabelOwner};
use crate::queue::{INCIDENTS, PLACER};
use crate::sealed::EncryptionMode;
use crate::sealed::columns::WORKLOAD_DRAFT;
use crate::sql::{Sql, StoredRow, like_pattern, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx, spec_reference};

mod head;
mod list;

pub use head::{
    get_head_by_id, get_head_by_name, get_name, list_heads_by_names, lock_head, lock_many,
    replace_unknown_intent, set_intent,
};
pub use list::list;

/// A workload with the user of its latest edit.
struct WorkloadRow<'w> {
    workload: &'w Workload,
    updated_by: &'w str,
}

table_row! {
    WorkloadRow<'_> as row in "workload" => Workload;
    Key id = row.workload.id.to_string() => id: parse;
    Fixed project_id = row.workload.project.to_string() => project: parse;
    Fixed name = &row.workload.name => name: text;
    Mutable namespace = &row.workload.draft.namespace;
    Mutable labels = to_json(&row.workload.labels)? => labels: json;
    Mutable owners = to_json(&row.workload.owners)? => owners: json;
    Mutable intent = row.workload.intent.as_str() => intent: enum_value;
    Mutable published_revision = row.workload.published => published: opt_count;
    Mutable draft_changed = row.workload.draft_changed => draft_changed: flag;
    Fixed created_by = &row.workload.created_by => created_by: text;
    Mutable updated_by = row.updated_by;
    Fixed created_at = row.workload.created_at => created_at: timestamp;
    Mutable updated_at = row.workload.updated_at => updated_at: timestamp;
    Mutable resource_version = row.workload.revision => revision: int;
    Mutable draft = to_json(&row.workload.draft)? => draft: json;
}

fn select() -> Sql {
    table::select_from::<WorkloadRow<'_>>().push(" WHERE ")
}

/// Adds a workload, not due for the placer. [`Error::AlreadyExists`] if the name is taken in its project.
pub async fn insert(tx: &mut Tx, workload: &Workload) -> Result<(), Error> {
    let row = WorkloadRow { workload, updated_by: &workload.created_by };
    table::insert(tx, &[row])?.execute(tx).await?;
    PLACER.insert_row(tx, workload.id, workload.created_at).await?;
    INCIDENTS.insert_row(tx, workload.id, workload.created_at).await?;
    track_draft(tx, workload).await?;
    label::replace_labels(tx, LabelOwner::Workload, &workload.id.to_string(), &workload.labels).await
}

/// Writes everything but name, project and creation, if the row still has `expected_version`; returns whether it
/// had.
pub async fn update(
    tx: &mut Tx,
    workload: &Workload,
    expected_version: i64,
    updated_by: &str,
) -> Result<bool, Error> {
    let changed = table::update(tx, &WorkloadRow { workload, updated_by })?
        .push(" WHERE id = ")
        .push_bind(workload.id.to_string())
        .push(" AND resource_version = ")
        .push_bind(expected_version)
        .execute(tx)
        .await?;
    if changed == 1 {
        track_draft(tx, workload).await?;
        label::replace_labels(tx, LabelOwner::Workload, &workload.id.to_string(), &workload.labels).await?;
    }
    Ok(changed == 1)
}

/// Writes labels, owners and the next revision of a workload, if the row still has `expected_version`; returns whether it had. The draft is
/// neither encoded nor written: a large one would occupy the only writer of `SQLite`.
pub async fn update_metadata(
    tx: &mut Tx,
    workload: &Workload,
    expected_version: i64,
    updated_by: &str,
) -> Result<bool, Error> {
    let changed = sql("UPDATE workload SET labels = $1, owners = $2, updated_by = $3, updated_at = $4, resource_version = $5 \
                       WHERE id = $6 AND resource_version = $7")
        .bind_text(to_json(&workload.labels)?)
        .bind_text(to_json(&workload.owners)?)
        .bind_text(updated_by)
        .bind(workload.updated_at.millis())
        .bind(workload.revision)
        .bind_text(workload.id)
        .bind(expected_version)
        .execute(tx)
        .await?;
    if changed == 1 {
        label::replace_labels(tx, LabelOwner::Workload, &workload.id.to_string(), &workload.labels).await?;
    }
    Ok(changed == 1)
}

/// Stores what the draft of a workload refers to.
async fn track_draft(tx: &mut Tx, workload: &Workload) -> Result<(), Error> {
    spec_reference::replace(tx, workload.id, spec_reference::DRAFT, &workload.draft).await?;
    git::track_draft(tx, workload).await
}

/// Rows of a server of the previous release have no owners.
fn read_workload(row: &RowReader<'_>) -> Result<Workload, DecodeError> {
    let mut workload = read_row(row)?;
    workload.owners = normalize_owners(&workload.owners, &workload.created_by);
    Ok(workload)
}

/// A workload as it is stored. To decrypt and to parse a large draft takes long, and needs no connection.
pub struct EncodedWorkload(StoredRow);

impl EncodedWorkload {
    /// The workload without its draft.
    ///
    /// # Errors
    /// [`Error::InvalidRow`]
    pub fn head(&self) -> Result<WorkloadHead, Error> {
        decode_one(&self.0, "workload", head::read)
    }

    /// The workload.
    ///
    /// # Errors
    /// [`Error::InvalidRow`], [`Error::NoMemory`]
    pub fn decode(&self) -> Result<Workload, Error> {
        admit_column(&self.0, "workload", "draft")?;
        decode_one(&self.0, "workload", read_workload)
    }
}

/// The workload with this name, as it is stored.
pub async fn find_stored(
    tx: &mut Tx,
    project: ProjectId,
    name: &str,
) -> Result<Option<EncodedWorkload>, Error> {
    let row = select()
        .push("project_id = $1 AND name = $2")
        .bind_text(project)
        .bind_text(name)
        .fetch_optional(tx)
        .await?;
    Ok(row.map(EncodedWorkload))
}

/// The workload with this name.
pub async fn get_by_name(tx: &mut Tx, project: ProjectId, name: &str) -> Result<Option<Workload>, Error> {
    let stored = find_stored(tx, project, name).await?;
    stored.map(|stored| stored.decode()).transpose()
}

/// The latest edit of the workload with this name.
pub async fn get_latest_edit(
    tx: &mut Tx,
    project: ProjectId,
    name: &str,
) -> Result<Option<LatestEdit>, Error> {
    let row = sql("SELECT id, updated_by, updated_at FROM workload WHERE project_id = $1 AND name = $2")
        .bind_text(project)
        .bind_text(name)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "workload", |row| {
        Ok(LatestEdit { updated_by: row.text("updated_by")?, updated_at: row.timestamp("updated_at")? })
    })
}

/// What subscriptions to incidents select a workload by; its draft is not read.
pub async fn get_incident_subject(tx: &mut Tx, id: WorkloadId) -> Result<Option<IncidentSubject>, Error> {
    let row = sql("SELECT id, name, owners, labels, created_by FROM workload WHERE id = $1")
        .bind_text(id)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "workload", |row| {
        let owners: Vec<String> = row.json("owners")?;
        Ok(IncidentSubject {
            workload: row.text("name")?,
            owners: normalize_owners(&owners, &row.text("created_by")?),
            labels: row.json("labels")?,
            cluster_owners: Vec::new(),
        })
    })
}

/// The workload with this id.
pub async fn get_by_id(tx: &mut Tx, id: WorkloadId) -> Result<Option<Workload>, Error> {
    let row = select().push("id = $1").bind_text(id).fetch_optional(tx).await?;
    row.map(|row| EncodedWorkload(row).decode()).transpose()
}

/// Who created a workload; `None` if there is no such workload.
pub async fn get_creator(tx: &mut Tx, id: WorkloadId) -> Result<Option<String>, Error> {
    let statement = sql("SELECT id, created_by FROM workload WHERE id = $1").bind_text(id);
    decode_row(statement.fetch_optional(tx).await?, "workload", |row| row.text("created_by"))
}

/// Replaces the draft of a workload and nothing else of its row, so that one that can't be read is readable again.
pub async fn replace_draft(tx: &mut Tx, id: WorkloadId, draft: &WorkloadSpec) -> Result<(), Error> {
    let text = tx.seal_text(&WORKLOAD_DRAFT, &[id.to_string()], to_json(draft)?);
    sql("UPDATE workload SET draft = $1 WHERE id = $2").bind(text).bind_text(id).execute(tx).await?;
    spec_reference::replace(tx, id, spec_reference::DRAFT, draft).await
}

/// Deletes a workload with its revisions, decisions and releases, but not its events. Returns whether it existed.
pub async fn delete(tx: &mut Tx, id: WorkloadId) -> Result<bool, Error> {
    tx.count_deltas.retain(|(workload, _), _| *workload != id);
    tx.incident_marks.remove(&id);
    Ok(sql("DELETE FROM workload WHERE id = $1").bind_text(id).execute(tx).await? == 1)
}

/// Names of the workloads whose draft or published revision may reference this cluster group. A spec in clear text may if it contains the name.
pub async fn list_names_mentioning_group(tx: &mut Tx, group: &str) -> Result<Vec<String>, Error> {
    let mut names = list_names_by_reference(tx, group, "w.intent IS NOT NULL").await?;
    if tx.keyring().mode() != EncryptionMode::Complete {
        let rows = sql("SELECT w.name FROM workload w WHERE w.draft LIKE $1 ESCAPE '\\' UNION \
             SELECT w.name FROM workload w JOIN revision r ON r.workload_id = w.id AND r.number = w.published_revision \
             WHERE r.spec LIKE $1 ESCAPE '\\' ORDER BY 1")
        .bind_text(like_pattern(&format!("\"{group}\"")))
        .fetch_all(tx)
        .await?;
        names.extend(decode_rows(&rows, "workload", |row| row.text("name"))?);
    }
    Ok(sort_names(names))
}

/// Names of the workloads whose draft or published revision references this cluster group, in a placement, an
/// override or a rollout; without those being deleted, which are placed no more. One that can't be read counts if it may reference it: unknown is not unused.
pub async fn list_names_by_group(tx: &mut Tx, group: &str) -> Result<Vec<String>, Error> {
    let mut names = list_names_by_reference(
        tx,
        group,
        "(x.revision = 0 AND w.intent <> 'deleting' OR w.intent = 'published')",
    )
    .await?;
    if tx.keyring().mode() != EncryptionMode::Complete {
        names.extend(list_names_by_clear_text(tx, group).await?);
    }
    Ok(sort_names(names))
}

fn sort_names(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names.dedup();
    names
}

/// Names of the workloads whose draft or published revision has a reference to this group, or an unknown one, and that this condition
/// matches.
async fn list_names_by_reference(
    tx: &mut Tx,
    group: &str,
    condition: &'static str,
) -> Result<Vec<String>, Error> {
    let rows = sql("SELECT DISTINCT w.name FROM spec_reference x JOIN workload w ON w.id = x.workload_id \
         WHERE (x.kind = $1 AND x.name = $2 OR x.kind = $3) AND (x.revision = 0 OR x.revision = w.published_revision) AND ")
    .push(condition)
    .bind_text(spec_reference::GROUP)
    .bind_text(group)
    .bind_text(spec_reference::UNKNOWN)
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "workload", |row| row.text("name"))
}

/// The same by specs in clear text, which have no references if a server of the previous release wrote them.
async fn list_names_by_clear_text(tx: &mut Tx, group: &str) -> Result<Vec<String>, Error> {
    // The match of the text only narrows the rows down; the references are checked below.
    let rows = sql("SELECT w.name, w.draft AS spec FROM workload w WHERE w.intent <> 'deleting' AND w.draft LIKE $1 ESCAPE '\\' UNION ALL \
         SELECT w.name, r.spec FROM workload w JOIN revision r ON r.workload_id = w.id AND r.number = w.published_revision \
         WHERE w.intent = 'published' AND r.spec LIKE $1 ESCAPE '\\'")
    .bind_text(like_pattern(&format!("\"{group}\"")))
    .fetch_all(tx)
    .await?;
    let found = decode_rows(&rows, "workload", |row| {
        let may_reference =
            row.json::<WorkloadSpec>("spec").map_or(true, |spec| references_group(&spec, group));
        Ok((row.text("name")?, may_reference))
    })?;
    Ok(found.into_iter().filter(|(_, may_reference)| *may_reference).map(|(name, _)| name).collect())
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
