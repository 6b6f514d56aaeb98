//! Subscriptions: which incidents are sent to a channel.

use domain::notification::SubscriptionScope;
use domain::rollout::RolloutWindow;
use domain::{ProjectId, SubscriptionId, Timestamp};

use crate::decode::{decode_readable_rows, decode_rows};
use crate::sql::{sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// A subscription.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubscriptionRow {
    /// Its id.
    pub id: SubscriptionId,
    /// The project.
    pub project: ProjectId,
    /// Name of its channel.
    pub channel: String,
    /// The incidents that it selects.
    pub scope: SubscriptionScope,
    /// When its messages are held back.
    pub quiet_hours: Option<RolloutWindow>,
    /// Who created it.
    pub created_by: String,
    /// When it was created.
    pub created_at: Timestamp,
}

/// A subscription as it is stored. One for publishes has the scope of a workload without a name, which a server of a version without them
/// reads, and which selects nothing.
struct StoredSubscription {
    id: SubscriptionId,
    project: ProjectId,
    channel: String,
    scope: SubscriptionScope,
    publisher: Option<String>,
    quiet_hours: Option<RolloutWindow>,
    created_by: String,
    created_at: Timestamp,
}

table_row! {
    StoredSubscription as row in "subscription" => StoredSubscription;
    Key id = row.id.to_string() => id: parse;
    Fixed project_id = row.project.to_string() => project: parse;
    Fixed channel = &row.channel => channel: text;
    Fixed scope = to_json(&row.scope)? => scope: json;
    Fixed publisher = row.publisher.clone() => publisher: opt_text;
    Fixed quiet_hours = row.quiet_hours.as_ref().map(to_json).transpose()? => quiet_hours: opt_json;
    Fixed created_by = &row.created_by => created_by: text;
    Fixed created_at = row.created_at => created_at: timestamp;
}

impl From<SubscriptionRow> for StoredSubscription {
    fn from(row: SubscriptionRow) -> Self {
        let (scope, publisher) = match row.scope {
            SubscriptionScope::Publisher(name) => (SubscriptionScope::Workload(String::new()), Some(name)),
            scope => (scope, None),
        };
        Self {
            id: row.id,
            project: row.project,
            channel: row.channel,
            scope,
            publisher,
            quiet_hours: row.quiet_hours,
            created_by: row.created_by,
            created_at: row.created_at,
        }
    }
}

impl From<StoredSubscription> for SubscriptionRow {
    fn from(stored: StoredSubscription) -> Self {
        Self {
            id: stored.id,
            project: stored.project,
            channel: stored.channel,
            scope: stored.publisher.map_or(stored.scope, SubscriptionScope::Publisher),
            quiet_hours: stored.quiet_hours,
            created_by: stored.created_by,
            created_at: stored.created_at,
        }
    }
}

/// Adds a subscription to an existing channel.
pub async fn insert(tx: &mut Tx, row: &SubscriptionRow) -> Result<(), Error> {
    table::insert(tx, &[StoredSubscription::from(row.clone())])?.execute(tx).await.map(drop)
}

/// Replaces the quiet hours of a subscription.
pub async fn set_quiet_hours(
    tx: &mut Tx,
    id: SubscriptionId,
    quiet_hours: Option<&RolloutWindow>,
) -> Result<(), Error> {
    sql("UPDATE subscription SET quiet_hours = $1 WHERE id = $2")
        .bind(quiet_hours.map(to_json).transpose()?)
        .bind_text(id)
        .execute(tx)
        .await
        .map(drop)
}

/// The subscriptions of a project, oldest first. One that can't be read is an error: its owner would not be notified.
pub async fn list(tx: &mut Tx, project: ProjectId) -> Result<Vec<SubscriptionRow>, Error> {
    let rows = table::select_from::<StoredSubscription>()
        .push(" WHERE project_id = $1 ORDER BY id")
        .bind_text(project)
        .fetch_all(tx)
        .await?;
    Ok(decode_rows(&rows, "subscription", read_row)?.into_iter().map(SubscriptionRow::from).collect())
}

/// Names of the channels to which a user is sent the end of the own publishes. One that can't be read is left out, and logged: no
/// publish fails for a message about its end.
pub async fn list_channels_of_publisher(
    tx: &mut Tx,
    project: ProjectId,
    publisher: &str,
) -> Result<Vec<String>, Error> {
    let rows = sql("SELECT channel FROM subscription WHERE project_id = $1 AND publisher = $2 ORDER BY id")
        .bind_text(project)
        .bind_text(publisher)
        .fetch_all(tx)
        .await?;
    Ok(decode_readable_rows(&rows, "subscription", |row| row.text("channel")))
}

/// Deletes a subscription; returns whether it existed.
pub async fn delete(tx: &mut Tx, project: ProjectId, id: SubscriptionId) -> Result<bool, Error> {
    let delete = sql("DELETE FROM subscription WHERE project_id = $1 AND id = $2");
    Ok(delete.bind_text(project).bind_text(id).execute(tx).await? == 1)
}
