//! Git repositories with credentials, webhooks or allowed signers.

use domain::git_repository::GitCredentials;
use domain::{ProjectId, Timestamp};

use crate::decode::{decode_row, decode_rows};
use crate::sql::{sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

const TABLE: &str = "git_repository";

/// How secrets are stored: as columns that this crate encrypts. No other format was ever used.
const SECRETS_FORMAT: &str = "plain";

/// A repository with its secrets. It is never shown as a whole.
#[derive(Clone, PartialEq, Eq)]
pub struct GitRepositoryRow {
    /// The project.
    pub project: ProjectId,
    /// Its name.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// The URL in the form that all its spellings share, which only one row of a project has; `None` if an earlier release wrote the row.
    pub url_identity: Option<String>,
    /// The credentials; `None` for a public repository.
    pub credentials: Option<GitCredentials>,
    /// The secret of its webhook.
    pub webhook_secret: Option<String>,
    /// SSH public keys that commits must be signed with, one a line.
    pub allowed_signers: String,
    /// Who added it.
    pub created_by: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// Its revision.
    pub revision: i64,
}

table_row! {
    GitRepositoryRow as row in "git_repository" => GitRepositoryRow;
    Key project_id = row.project.to_string() => project: parse;
    Key name = &row.name => name: text;
    Mutable url = &row.url => url: text;
    Mutable url_identity = row.url_identity.clone() => url_identity: opt_parse;
    Mutable credentials = row.credentials.as_ref().map(to_json).transpose()? => credentials: opt_json;
    Mutable credentials_format = SECRETS_FORMAT;
    Mutable webhook_secret = row.webhook_secret.as_ref().map(to_json).transpose()? => webhook_secret: opt_json;
    Mutable allowed_signers = &row.allowed_signers => allowed_signers: text;
    Fixed created_by = &row.created_by => created_by: text;
    Fixed created_at = row.created_at => created_at: timestamp;
    Mutable resource_version = row.revision => revision: int;
}

/// Adds a repository. [`Error::AlreadyExists`] if its name or its URL is taken in its project.
pub async fn insert(tx: &mut Tx, row: &GitRepositoryRow) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(row))?.execute(tx).await.map(drop)
}

/// Writes a repository, if it still has `expected_version`; returns whether it had. [`Error::AlreadyExists`] if its URL is taken.
pub async fn update(tx: &mut Tx, row: &GitRepositoryRow, expected_version: i64) -> Result<bool, Error> {
    let changed = table::update(tx, row)?
        .push(" WHERE project_id = ")
        .push_bind(row.project.to_string())
        .push(" AND name = ")
        .push_bind(row.name.clone())
        .push(" AND resource_version = ")
        .push_bind(expected_version)
        .execute(tx)
        .await?;
    Ok(changed == 1)
}

/// The repository with this name.
pub async fn get(tx: &mut Tx, project: ProjectId, name: &str) -> Result<Option<GitRepositoryRow>, Error> {
    let row = table::select_from::<GitRepositoryRow>()
        .push(" WHERE project_id = $1 AND name = $2")
        .bind_text(project)
        .bind_text(name)
        .fetch_optional(tx)
        .await?;
    decode_row(row, TABLE, read_row)
}

/// The repositories of a project, by name.
pub async fn list(tx: &mut Tx, project: ProjectId) -> Result<Vec<GitRepositoryRow>, Error> {
    let rows = table::select_from::<GitRepositoryRow>()
        .push(" WHERE project_id = $1 ORDER BY name")
        .bind_text(project)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, TABLE, read_row)
}

/// Deletes a repository; returns whether it existed.
pub async fn delete(tx: &mut Tx, project: ProjectId, name: &str) -> Result<bool, Error> {
    let delete = sql("DELETE FROM git_repository WHERE project_id = $1 AND name = $2");
    Ok(delete.bind_text(project).bind_text(name).execute(tx).await? == 1)
}
