//! Repositories of charts. Their lists of charts are artifacts.

use domain::chart::ChartUse;
use domain::chart_repository::{RepositoryCredentials, RepositoryStatus};
use domain::workload::{Source, WorkloadSpec};
use domain::{Digest, ProjectId, Timestamp};

use crate::decode::{decode_row, decode_rows};
use crate::sealed::EncryptionMode;
use crate::sql::{Sql, like_pattern, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx, spec_reference};

const TABLE: &str = "chart_repository";

/// How secrets are stored: as columns that this crate encrypts. No other format was ever used.
const SECRETS_FORMAT: &str = "plain";

/// A repository with its secrets. It is never shown as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChartRepositoryRow {
    /// The project.
    pub project: ProjectId,
    /// Its name.
    pub name: String,
    /// Its URL.
    pub url: String,
    /// The URL in the form that all its spellings share, which only one row of a project has; `None` if an earlier release wrote the row.
    pub url_identity: Option<String>,
    /// Whether an OCI registry is requested over plain HTTP.
    pub plain_http: bool,
    /// The credentials; `None` for a public repository.
    pub credentials: Option<RepositoryCredentials>,
    /// Who added it.
    pub created_by: String,
    /// When it was added.
    pub created_at: Timestamp,
    /// Its revision, which a refresh does not change.
    pub revision: i64,
    /// The artifact with the list of its charts, if an index was read.
    pub index: Option<Digest>,
    /// `ETag` of that index.
    pub etag: Option<String>,
    /// `Last-Modified` of that index.
    pub last_modified: Option<String>,
    /// What lists show of the index.
    pub status: RepositoryStatus,
}

table_row! {
    ChartRepositoryRow as row in "chart_repository" => ChartRepositoryRow;
    Key project_id = row.project.to_string() => project: parse;
    Key name = &row.name => name: text;
    Mutable url = &row.url => url: text;
    Mutable url_identity = row.url_identity.clone() => url_identity: opt_parse;
    Mutable plain_http = row.plain_http => plain_http: flag;
    Mutable credentials = row.credentials.as_ref().map(to_json).transpose()? => credentials: opt_json;
    Mutable credentials_format = SECRETS_FORMAT;
    Fixed created_by = &row.created_by => created_by: text;
    Fixed created_at = row.created_at => created_at: timestamp;
    Mutable resource_version = row.revision => revision: int;
    Mutable index_digest = row.index.as_ref().map(ToString::to_string) => index: opt_parse;
    Mutable etag = row.etag.clone() => etag: opt_parse;
    Mutable last_modified = row.last_modified.clone() => last_modified: opt_parse;
    Mutable status = to_json(&row.status)? => status: json;
}

/// Adds a repository. [`Error::AlreadyExists`] if its name or its URL is taken in its project.
pub async fn insert(tx: &mut Tx, row: &ChartRepositoryRow) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(row))?.execute(tx).await.map(drop)
}

/// Writes a repository, if it still has `expected_version`; returns whether it had. [`Error::AlreadyExists`] if its URL is taken.
pub async fn update(tx: &mut Tx, row: &ChartRepositoryRow, expected_version: i64) -> Result<bool, Error> {
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
pub async fn get(tx: &mut Tx, project: ProjectId, name: &str) -> Result<Option<ChartRepositoryRow>, Error> {
    let row = table::select_from::<ChartRepositoryRow>()
        .push(" WHERE project_id = $1 AND name = $2")
        .bind_text(project)
        .bind(name.to_owned())
        .fetch_optional(tx)
        .await?;
    decode_row(row, TABLE, read_row)
}

/// Locks a repository until the transaction ends: for its removal, before the uses of its charts are read.
pub async fn lock(tx: &mut Tx, project: ProjectId, name: &str) -> Result<(), Error> {
    let clause = tx.locking_clause();
    select_name(project, name).push(clause).fetch_all(tx).await.map(drop)
}

/// Locks a repository until the transaction ends; returns whether there is one.
pub async fn share(tx: &mut Tx, project: ProjectId, name: &str) -> Result<bool, Error> {
    let clause = tx.sharing_clause();
    Ok(!select_name(project, name).push(clause).fetch_all(tx).await?.is_empty())
}

fn select_name(project: ProjectId, name: &str) -> Sql {
    let select = sql("SELECT name FROM chart_repository WHERE project_id = $1 AND name = $2");
    select.bind_text(project).bind(name.to_owned())
}

/// The repositories of a project, by name.
pub async fn list(tx: &mut Tx, project: ProjectId) -> Result<Vec<ChartRepositoryRow>, Error> {
    let rows = table::select_from::<ChartRepositoryRow>()
        .push(" WHERE project_id = $1 ORDER BY name")
        .bind_text(project)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, TABLE, read_row)
}

/// Deletes a repository; returns whether it existed.
pub async fn delete(tx: &mut Tx, project: ProjectId, name: &str) -> Result<bool, Error> {
    let delete = sql("DELETE FROM chart_repository WHERE project_id = $1 AND name = $2");
    Ok(delete.bind_text(project).bind(name.to_owned()).execute(tx).await? == 1)
}

/// The uses of charts of a repository by drafts and by every stored revision, sorted and distinct. A spec that can't be read
/// counts as a use of every chart, with an empty version, because it may be one.
pub async fn list_uses(tx: &mut Tx, project: ProjectId, repository: &str) -> Result<Vec<ChartUse>, Error> {
    let prefix = format!("{repository}/");
    let mut uses = list_uses_by_reference(tx, project, &prefix).await?;
    if tx.keyring().mode() != EncryptionMode::Complete {
        uses.extend(list_uses_by_clear_text(tx, project, &prefix).await?);
    }
    uses.sort_unstable();
    uses.dedup();
    Ok(uses)
}

async fn list_uses_by_reference(
    tx: &mut Tx,
    project: ProjectId,
    prefix: &str,
) -> Result<Vec<ChartUse>, Error> {
    // The names of charts of the repository sort between its name with "/" and with the next character.
    let rows = sql("SELECT DISTINCT w.name, x.kind, x.name AS chart, x.detail FROM spec_reference x \
         JOIN workload w ON w.id = x.workload_id WHERE w.project_id = $1 AND (x.kind = $2 AND x.name >= $3 AND x.name < $4 OR x.kind = $5)")
    .bind_text(project)
    .bind_text(spec_reference::CHART)
    .bind_text(prefix)
    .bind(format!("{}0", prefix.trim_end_matches('/')))
    .bind_text(spec_reference::UNKNOWN)
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "workload", |row| {
        let is_unknown = row.text("kind")? == spec_reference::UNKNOWN;
        let chart = if is_unknown { prefix.to_owned() } else { row.text("chart")? };
        Ok(ChartUse { workload: row.text("name")?, chart, version: row.text("detail")? })
    })
}

/// The same by specs in clear text, which have no references if a server of the previous release wrote them.
async fn list_uses_by_clear_text(
    tx: &mut Tx,
    project: ProjectId,
    prefix: &str,
) -> Result<Vec<ChartUse>, Error> {
    // The match of the text only narrows the rows down; the references are compared below.
    let rows = sql("SELECT w.name, w.draft AS spec FROM workload w WHERE w.project_id = $1 AND w.draft LIKE $2 ESCAPE '\\' \
         UNION ALL SELECT w.name, r.spec FROM workload w JOIN revision r ON r.workload_id = w.id \
         WHERE w.project_id = $1 AND r.spec LIKE $2 ESCAPE '\\'")
    .bind_text(project)
    .bind_text(like_pattern(&format!("\"chart\":\"{prefix}")))
    .fetch_all(tx)
    .await?;
    let found = decode_rows(&rows, "workload", |row| {
        let workload = row.text("name")?;
        let Ok(spec) = row.json::<WorkloadSpec>("spec") else {
            return Ok(Some(ChartUse { workload, chart: prefix.to_owned(), version: String::new() }));
        };
        let Source::Chart(source) = spec.source else { return Ok(None) };
        let is_use = source.chart.starts_with(prefix);
        Ok(is_use.then_some(ChartUse { workload, chart: source.chart, version: source.version }))
    })?;
    Ok(found.into_iter().flatten().collect())
}
