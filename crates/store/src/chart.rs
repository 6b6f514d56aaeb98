//! Charts and their renderings. Archives and rendered files are artifacts.

use domain::chart::ChartVersion;
use domain::generated_values::GeneratedFields;
use domain::{Digest, Finding, ProjectId, Timestamp};

use crate::decode::{DecodeError, RowReader, decode_row, decode_rows};
use crate::sealed::columns::RENDERING_FINDINGS;
use crate::sql::{Sql, sql, to_json};
use crate::{Error, Tx};

const CHART: &str = "chart";
const RENDERING: &str = "chart_rendering";

fn select_chart() -> Sql {
    sql("SELECT name, version, metadata FROM chart WHERE project_id = $1 ")
}

fn read_chart(row: &RowReader<'_>) -> Result<ChartVersion, DecodeError> {
    row.json("metadata")
}

/// Adds a chart. [`Error::AlreadyExists`] if the project has this version of it.
pub async fn insert(tx: &mut Tx, project: ProjectId, chart: &ChartVersion) -> Result<(), Error> {
    sql("INSERT INTO chart (project_id, repository, name, version, digest, metadata, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)")
    .bind_text(project)
    .bind(chart.repository.clone())
    .bind(chart.name.clone())
    .bind(chart.version.clone())
    .bind_text(&chart.digest)
    .bind(to_json(chart)?)
    .bind(chart.created_at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// Deletes a version of a chart; returns whether it existed. Its archive stays until the retention loop deletes it.
pub async fn delete(
    tx: &mut Tx,
    project: ProjectId,
    repository: &str,
    name: &str,
    version: &str,
) -> Result<bool, Error> {
    let deleted =
        sql("DELETE FROM chart WHERE project_id = $1 AND repository = $2 AND name = $3 AND version = $4")
            .bind_text(project)
            .bind(repository.to_owned())
            .bind(name.to_owned())
            .bind(version.to_owned())
            .execute(tx)
            .await?;
    Ok(deleted == 1)
}

/// Locks the stored versions of a chart until the transaction ends: for a deletion, before its uses are read.
pub async fn lock_versions(
    tx: &mut Tx,
    project: ProjectId,
    repository: &str,
    name: &str,
) -> Result<(), Error> {
    let clause = tx.locking_clause();
    select_versions(project, repository, name).push(clause).fetch_all(tx).await.map(drop)
}

/// Locks the stored versions of a chart until the transaction ends; returns them.
pub async fn share_versions(
    tx: &mut Tx,
    project: ProjectId,
    repository: &str,
    name: &str,
) -> Result<Vec<String>, Error> {
    let clause = tx.sharing_clause();
    let rows = select_versions(project, repository, name).push(clause).fetch_all(tx).await?;
    decode_rows(&rows, CHART, |row| row.text("version"))
}

fn select_versions(project: ProjectId, repository: &str, name: &str) -> Sql {
    sql("SELECT version FROM chart WHERE project_id = $1 AND repository = $2 AND name = $3 ORDER BY version")
        .bind_text(project)
        .bind(repository.to_owned())
        .bind(name.to_owned())
}

/// The charts of a repository.
pub async fn list_by_repository(
    tx: &mut Tx,
    project: ProjectId,
    repository: &str,
) -> Result<Vec<ChartVersion>, Error> {
    let rows = select_chart()
        .push("AND repository = $2 ORDER BY name, version")
        .bind_text(project)
        .bind(repository.to_owned())
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, CHART, read_chart)
}

/// One version of a chart.
pub async fn get(
    tx: &mut Tx,
    project: ProjectId,
    repository: &str,
    name: &str,
    version: &str,
) -> Result<Option<ChartVersion>, Error> {
    let row = select_chart()
        .push("AND repository = $2 AND name = $3 AND version = $4")
        .bind_text(project)
        .bind(repository.to_owned())
        .bind(name.to_owned())
        .bind(version.to_owned())
        .fetch_optional(tx)
        .await?;
    decode_row(row, CHART, read_chart)
}

/// The charts of a project, newest upload first; of one name if it is given.
pub async fn list(
    tx: &mut Tx,
    project: ProjectId,
    name: Option<&str>,
    limit: u32,
) -> Result<Vec<ChartVersion>, Error> {
    let select = match name {
        Some(name) => select_chart().push("AND name = $2 ").bind_text(project).bind(name.to_owned()),
        None => select_chart().bind_text(project),
    };
    let rows = select
        .push("ORDER BY created_at DESC, name, version LIMIT ")
        .push_bind(i64::from(limit))
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, CHART, read_chart)
}

/// The rendering of a chart with some inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartRendering {
    /// Digest of the inputs.
    pub inputs: Digest,
    /// Digest of the archive.
    pub chart: Digest,
    /// The artifact with the rendered files.
    pub files: Digest,
    /// The version of Helm that rendered it.
    pub helm_version: String,
    /// What was found while it was rendered.
    pub findings: Vec<Finding>,
    /// The fields that it fills differently each time.
    pub generated: GeneratedFields,
}

fn read_rendering(row: &RowReader<'_>) -> Result<ChartRendering, DecodeError> {
    Ok(ChartRendering {
        inputs: row.parse("inputs_digest")?,
        chart: row.parse("chart_digest")?,
        files: row.parse("files_digest")?,
        helm_version: row.text("helm_version")?,
        findings: row.json("findings")?,
        generated: row.json_or_default("generated")?,
    })
}

/// Stores a rendering, unless another one with the same inputs was stored in the meantime. Returns the stored one.
pub async fn put_rendering(
    tx: &mut Tx,
    rendering: &ChartRendering,
    at: Timestamp,
) -> Result<ChartRendering, Error> {
    sql("INSERT INTO chart_rendering (inputs_digest, chart_digest, files_digest, helm_version, findings, generated, used, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, 0, $7) ON CONFLICT (inputs_digest) DO NOTHING")
    .bind_text(&rendering.inputs)
    .bind_text(&rendering.chart)
    .bind_text(&rendering.files)
    .bind(rendering.helm_version.clone())
    .bind(tx.seal_text(&RENDERING_FINDINGS, &[rendering.inputs.to_string()], to_json(&rendering.findings)?))
    .bind(to_json(&rendering.generated)?)
    .bind(at.millis())
    .execute(tx)
    .await?;
    let missing = || Error::MissingRow { table: RENDERING, id: rendering.inputs.to_string() };
    get_rendering(tx, &rendering.inputs).await?.ok_or_else(missing)
}

/// The rendering with these inputs.
pub async fn get_rendering(tx: &mut Tx, inputs: &Digest) -> Result<Option<ChartRendering>, Error> {
    let row =
        sql("SELECT inputs_digest, chart_digest, files_digest, helm_version, findings, generated FROM chart_rendering \
                   WHERE inputs_digest = $1")
        .bind_text(inputs)
        .fetch_optional(tx)
        .await?;
    decode_row(row, RENDERING, read_rendering)
}

/// Marks renderings as used by a published revision, so that they are not deleted.
pub async fn mark_renderings_used(tx: &mut Tx, inputs: &[Digest]) -> Result<(), Error> {
    // Workloads share renderings: sorted, so that transactions do not deadlock.
    let mut sorted: Vec<&Digest> = inputs.iter().collect();
    sorted.sort_unstable();
    for inputs in sorted {
        sql("UPDATE chart_rendering SET used = 1 WHERE inputs_digest = $1 AND used = 0")
            .bind_text(inputs)
            .execute(tx)
            .await?;
    }
    Ok(())
}
