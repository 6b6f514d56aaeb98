//! Channels: where messages about incidents are sent to.

use domain::notification::{ChannelKind, EmailSettings};
use domain::{ProjectId, Timestamp};

use crate::decode::{decode_row, decode_rows};
use crate::sql::{sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

const TABLE: &str = "channel";

/// A channel with its secrets. It is never shown as a whole.
#[derive(Clone, PartialEq, Eq)]
pub struct ChannelRow {
    /// The project.
    pub project: ProjectId,
    /// Its name.
    pub name: String,
    /// What it sends.
    pub kind: ChannelKind,
    /// Where to.
    pub target: String,
    /// Signs its messages, or is a part of them.
    pub secret: Option<String>,
    /// The mail server and the addresses of a channel that sends e-mail.
    pub email: Option<EmailSettings>,
    /// The text of its messages as a template.
    pub template: Option<String>,
    /// Who created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// Failures in a row.
    pub failures: u32,
    /// The last of them.
    pub last_error: Option<String>,
    /// Before this nothing is sent.
    pub retry_at: Option<Timestamp>,
    /// When a message was last delivered.
    pub delivered_at: Option<Timestamp>,
}

table_row! {
    ChannelRow as row in "channel" => ChannelRow;
    Key project_id = row.project.to_string() => project: parse;
    Key name = &row.name => name: text;
    Fixed kind = row.kind.as_str() => kind: enum_value;
    Fixed target = &row.target => target: text;
    Fixed secret = row.secret.clone() => secret: opt_text;
    Fixed email = row.email.as_ref().map(to_json).transpose()? => email: opt_json;
    Mutable template = row.template.clone() => template: opt_text;
    Fixed created_by = &row.created_by => created_by: text;
    Fixed created_at = row.created_at => created_at: timestamp;
    Mutable failures = row.failures => failures: count;
    Mutable last_error = row.last_error.clone() => last_error: opt_text;
    Mutable retry_at = row.retry_at => retry_at: opt_timestamp;
    Mutable delivered_at = row.delivered_at => delivered_at: opt_timestamp;
}

/// Adds a channel. [`Error::AlreadyExists`] if its name is taken in its project.
pub async fn insert(tx: &mut Tx, row: &ChannelRow) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(row))?.execute(tx).await.map(drop)
}

/// The channel with this name.
pub async fn get(tx: &mut Tx, project: ProjectId, name: &str) -> Result<Option<ChannelRow>, Error> {
    let row = table::select_from::<ChannelRow>()
        .push(" WHERE project_id = $1 AND name = $2")
        .bind_text(project)
        .bind_text(name)
        .fetch_optional(tx)
        .await?;
    decode_row(row, TABLE, read_row)
}

/// The channels of a project, by name.
pub async fn list(tx: &mut Tx, project: ProjectId) -> Result<Vec<ChannelRow>, Error> {
    let rows = table::select_from::<ChannelRow>()
        .push(" WHERE project_id = $1 ORDER BY name")
        .bind_text(project)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, TABLE, read_row)
}

/// Keeps a channel from being deleted until the transaction ends, before its deliveries are written: a deletion locks the channel, then the
/// deliveries that it deletes. False if there is no such channel.
pub async fn share(tx: &mut Tx, project: ProjectId, name: &str) -> Result<bool, Error> {
    let clause = tx.referencing_clause();
    let row = sql("SELECT name FROM channel WHERE project_id = $1 AND name = $2")
        .bind_text(project)
        .bind_text(name)
        .push(clause)
        .fetch_optional(tx)
        .await?;
    Ok(row.is_some())
}

/// Deletes a channel with its subscriptions and deliveries; returns whether it existed.
pub async fn delete(tx: &mut Tx, project: ProjectId, name: &str) -> Result<bool, Error> {
    let delete = sql("DELETE FROM channel WHERE project_id = $1 AND name = $2");
    Ok(delete.bind_text(project).bind_text(name).execute(tx).await? == 1)
}

/// Sets or removes the template of a channel; false if there is no such channel.
pub async fn set_template(
    tx: &mut Tx,
    project: ProjectId,
    name: &str,
    template: Option<&str>,
) -> Result<bool, Error> {
    let update = sql("UPDATE channel SET template = $1 WHERE project_id = $2 AND name = $3");
    let update = update.bind(template.map(str::to_owned)).bind_text(project).bind_text(name);
    Ok(update.execute(tx).await? == 1)
}

/// Records that a message was delivered: what waits for the channel is sent.
pub async fn record_success(
    tx: &mut Tx,
    project: ProjectId,
    name: &str,
    now: Timestamp,
) -> Result<(), Error> {
    sql("UPDATE channel SET failures = 0, last_error = NULL, retry_at = NULL, delivered_at = $1 \
         WHERE project_id = $2 AND name = $3")
    .bind(now.millis())
    .bind_text(project)
    .bind_text(name)
    .execute(tx)
    .await
    .map(drop)
}

/// Records a failure of the channel: nothing is sent before `retry_at`.
pub async fn record_failure(
    tx: &mut Tx,
    (project, name): (ProjectId, &str),
    failures: u32,
    error: &str,
    retry_at: Timestamp,
) -> Result<(), Error> {
    sql("UPDATE channel SET failures = $1, last_error = $2, retry_at = $3 WHERE project_id = $4 AND name = $5")
        .bind(i64::from(failures))
        .bind_text(error)
        .bind(retry_at.millis())
        .bind_text(project)
        .bind_text(name)
        .execute(tx)
        .await
        .map(drop)
}
