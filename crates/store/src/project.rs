//! Projects. There is one so far; every workload references it, so that there can be more.

use domain::project::{Project, PublishApproval};
use domain::{ProjectId, Timestamp};

use crate::decode::{DecodeError, RowReader, decode_row};
use crate::sealed::columns::PROJECT_LOCKED_VALUES;
use crate::sql::{Sql, sql};
use crate::{Error, Tx};

/// Name of the project that always exists.
pub const DEFAULT: &str = "default";

const TABLE: &str = "project";

/// The id of the default project; it is created with `id` if it is missing.
pub async fn ensure_default(tx: &mut Tx, id: ProjectId, at: Timestamp) -> Result<ProjectId, Error> {
    let insert =
        "INSERT INTO project (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING";
    sql(insert).bind_text(id).bind_text(DEFAULT).bind(at.millis()).execute(tx).await?;
    let row = sql("SELECT id FROM project WHERE name = $1").bind_text(DEFAULT).fetch_optional(tx).await?;
    Ok(decode_row(row, TABLE, |row| row.parse("id"))?.unwrap_or(id))
}

fn select(id: ProjectId) -> Sql {
    sql("SELECT id, name, locked_values, publish_approval, resource_version FROM project WHERE id = $1")
        .bind_text(id)
}

fn read_project(row: &RowReader<'_>) -> Result<Project, DecodeError> {
    Ok(Project {
        name: row.text("name")?,
        locked_values: row.text("locked_values")?,
        publish_approval: row.enum_value("publish_approval")?,
        revision: row.int("resource_version")?,
    })
}

fn missing_project(id: ProjectId) -> Error {
    Error::MissingRow { table: TABLE, id: id.to_string() }
}

/// A project.
pub async fn get(tx: &mut Tx, id: ProjectId) -> Result<Project, Error> {
    let row = select(id).fetch_optional(tx).await?;
    decode_row(row, TABLE, read_project)?.ok_or_else(|| missing_project(id))
}

/// Whether a publish in a project has to be approved. It needs none of its other values, which may be unreadable.
pub async fn get_publish_approval(tx: &mut Tx, id: ProjectId) -> Result<PublishApproval, Error> {
    let row = sql("SELECT id, publish_approval FROM project WHERE id = $1").bind_text(id);
    let row = row.fetch_optional(tx).await?;
    let read = decode_row(row, TABLE, |row| row.enum_value("publish_approval"))?;
    read.ok_or_else(|| missing_project(id))
}

/// Keeps the settings of a project from being changed until the transaction ends; others may do so too.
pub async fn share(tx: &mut Tx, id: ProjectId) -> Result<(), Error> {
    let clause = tx.sharing_clause();
    let row =
        sql("SELECT id FROM project WHERE id = $1").bind_text(id).push(clause).fetch_optional(tx).await?;
    row.map(drop).ok_or_else(|| missing_project(id))
}

/// A project, locked until the transaction ends.
pub async fn lock(tx: &mut Tx, id: ProjectId) -> Result<Project, Error> {
    let clause = tx.locking_clause();
    let row = select(id).push(clause).fetch_optional(tx).await?;
    decode_row(row, TABLE, read_project)?.ok_or_else(|| missing_project(id))
}

/// Stores the settings of a project, and its revision. The caller has locked it.
pub async fn update(tx: &mut Tx, id: ProjectId, project: &Project) -> Result<(), Error> {
    let locked = project.locked_values.clone();
    let locked = tx.seal_text(&PROJECT_LOCKED_VALUES, &[id.to_string()], locked);
    sql("UPDATE project SET locked_values = $1, publish_approval = $2, resource_version = $3 WHERE id = $4")
        .bind(locked)
        .bind_text(project.publish_approval.as_str())
        .bind(project.revision)
        .bind_text(id)
        .execute(tx)
        .await
        .map(drop)
}
