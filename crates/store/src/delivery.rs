//! The outbox: messages about incidents, each for one channel. A message is a row, so it is sent after a restart (P27).
//!
//! `due_at` is also the end of a claim's lease, and `claim_epoch` fences claims, as in [`crate::queue`].

use domain::notification::{Delivery, DeliveryState, IncidentMessage, MessageKind};
use domain::{DeliveryId, IncidentId, ProjectId, Timestamp};

use crate::decode::{DecodeError, RowReader, decode_readable_rows, decode_rows};
use crate::sql::{sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

const TABLE: &str = "delivery";

/// A new message for one channel.
pub struct NewDelivery<'m> {
    /// Its id, which does not change when it is sent again.
    pub id: DeliveryId,
    /// The project.
    pub project: ProjectId,
    /// Name of the channel.
    pub channel: &'m str,
    /// Its place among the messages about the incident.
    pub position: i64,
    /// When it is sent, at the earliest.
    pub due_at: Timestamp,
    /// Until when quiet hours hold it back; `due_at` is not before that.
    pub quiet_until: Option<Timestamp>,
    /// The message.
    pub message: &'m IncidentMessage,
}

table_row! {
    NewDelivery<'_> as row in "delivery" => ClaimedMessage;
    Key id = row.id.to_string() => id: parse;
    Fixed project_id = row.project.to_string();
    Fixed incident_id = row.message.incident.id.to_string() => incident: parse;
    Fixed channel = row.channel => channel: text;
    Fixed position = row.position;
    Fixed kind = row.message.kind.as_str();
    Fixed message = to_json(row.message)? => message: json;
    Fixed created_at = row.message.at;
    Fixed due_at = row.due_at;
    Fixed quiet_until = row.quiet_until;
    Fixed claim_epoch = 0_i64 => epoch: int;
    Fixed attempts = 0_i64 => attempts: count;
}

/// A message that is to be sent now, with the epoch of its claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedMessage {
    /// Its id.
    pub id: DeliveryId,
    /// The incident.
    pub incident: IncidentId,
    /// Name of the channel.
    pub channel: String,
    /// The message.
    pub message: IncidentMessage,
    /// The epoch of the claim.
    pub epoch: i64,
    /// Number of attempts, this one included.
    pub attempts: u32,
}

/// The place of the next message about an incident, which the transaction has locked.
pub async fn next_position(tx: &mut Tx, incident: IncidentId) -> Result<i64, Error> {
    let last = sql("SELECT MAX(position) FROM delivery WHERE incident_id = $1").bind_text(incident);
    Ok(last.fetch_number(tx).await? + 1)
}

/// Adds a message.
pub async fn insert(tx: &mut Tx, delivery: &NewDelivery<'_>) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(delivery))?.execute(tx).await.map(drop)
}

/// Replaces the message about an open incident that a channel has not been sent yet: an `Opened` that was never tried keeps its id and
/// says what is true now. Returns whether there was one.
pub async fn refresh_unsent_opened(
    tx: &mut Tx,
    channel: (ProjectId, &str),
    message: &IncidentMessage,
) -> Result<bool, Error> {
    let refreshed = IncidentMessage { kind: MessageKind::Opened, ..message.clone() };
    let changed =
        sql("UPDATE delivery SET message = $1 WHERE incident_id = $2 AND project_id = $3 AND channel = $4 \
         AND kind = $5 AND due_at IS NOT NULL AND attempts = 0")
        .bind(to_json(&refreshed)?)
        .bind_text(message.incident.id)
        .bind_text(channel.0)
        .bind_text(channel.1)
        .bind_text(MessageKind::Opened.as_str())
        .execute(tx)
        .await?;
    Ok(changed > 0)
}

/// Drops what quiet hours hold back from a channel about an incident that ends at `now`: the receiver was sent nothing about it. The row
/// stays, as a record. Returns whether there was one.
pub async fn suppress_held(
    tx: &mut Tx,
    incident: IncidentId,
    (project, channel): (ProjectId, &str),
    now: Timestamp,
) -> Result<bool, Error> {
    let changed =
        sql("UPDATE delivery SET due_at = NULL WHERE incident_id = $1 AND project_id = $2 AND channel = $3 \
         AND kind = $4 AND due_at IS NOT NULL AND attempts = 0 AND quiet_until > $5")
        .bind_text(incident)
        .bind_text(project)
        .bind_text(channel)
        .bind_text(MessageKind::Opened.as_str())
        .bind(now.millis())
        .execute(tx)
        .await?;
    Ok(changed > 0)
}

/// Deletes the updates about an incident that were not delivered to a channel: a later message contains what they say.
pub async fn delete_unsent_updates(
    tx: &mut Tx,
    incident: IncidentId,
    (project, channel): (ProjectId, &str),
) -> Result<(), Error> {
    sql("DELETE FROM delivery WHERE incident_id = $1 AND project_id = $2 AND channel = $3 AND kind = $4 \
         AND due_at IS NOT NULL")
    .bind_text(incident)
    .bind_text(project)
    .bind_text(channel)
    .bind_text(MessageKind::Updated.as_str())
    .execute(tx)
    .await
    .map(drop)
}

/// When a message about an incident was last delivered to a channel, or written for it if it was not delivered yet.
pub async fn get_last_time(
    tx: &mut Tx,
    incident: IncidentId,
    (project, channel): (ProjectId, &str),
) -> Result<Timestamp, Error> {
    let last = sql("SELECT MAX(COALESCE(delivered_at, created_at)) FROM delivery \
         WHERE incident_id = $1 AND project_id = $2 AND channel = $3");
    let last = last.bind_text(incident).bind_text(project).bind_text(channel);
    last.fetch_number(tx).await.map(Timestamp::from_millis)
}

/// Names of the channels that a message about an incident was written for.
pub async fn list_channels(tx: &mut Tx, incident: IncidentId) -> Result<Vec<String>, Error> {
    let rows = sql("SELECT DISTINCT channel FROM delivery WHERE incident_id = $1 ORDER BY channel")
        .bind_text(incident)
        .fetch_all(tx)
        .await?;
    decode_rows(&rows, TABLE, |row| row.text("channel"))
}

/// The messages about an incident, oldest first.
pub async fn list(tx: &mut Tx, incident: IncidentId) -> Result<Vec<Delivery>, Error> {
    let rows = sql("SELECT d.id, d.channel, d.kind, d.created_at, d.due_at, d.attempts, d.last_error, d.delivered_at, d.quiet_until, d.note, c.retry_at \
         FROM delivery d JOIN channel c ON c.project_id = d.project_id AND c.name = d.channel \
         WHERE d.incident_id = $1 ORDER BY d.position, d.channel LIMIT 500")
    .bind_text(incident)
    .fetch_all(tx)
    .await?;
    Ok(decode_readable_rows(&rows, TABLE, read_delivery))
}

fn read_delivery(row: &RowReader<'_>) -> Result<Delivery, DecodeError> {
    let delivered_at = row.opt_timestamp("delivered_at")?;
    let due_at = row.opt_timestamp("due_at")?;
    let state = match (delivered_at, due_at) {
        (Some(_), _) => DeliveryState::Delivered,
        (None, Some(_)) => DeliveryState::Pending,
        (None, None) => DeliveryState::Suppressed,
    };
    let next_attempt_at = due_at.max(row.opt_timestamp("retry_at")?);
    Ok(Delivery {
        id: row.parse("id")?,
        channel: row.text("channel")?,
        kind: row.enum_value("kind")?,
        state,
        attempts: row.count("attempts")?,
        last_error: row.opt_text("last_error")?,
        next_attempt_at: next_attempt_at.filter(|_| state == DeliveryState::Pending),
        quiet_until: row.opt_timestamp("quiet_until")?,
        created_at: row.timestamp("created_at")?,
        delivered_at,
        note: row.opt_text("note")?,
    })
}

/// The messages that can be sent now: due, of a channel that does not pause, and after every earlier one of the same incident. `$1` is now.
const SENDABLE: &str = "d.due_at IS NOT NULL AND d.due_at <= $1 AND (c.retry_at IS NULL OR c.retry_at <= $1) \
     AND NOT EXISTS (SELECT 1 FROM delivery e WHERE e.incident_id = d.incident_id AND e.channel = d.channel \
                     AND e.project_id = d.project_id AND e.position < d.position AND e.due_at IS NOT NULL)";

const JOINED: &str = "delivery d JOIN channel c ON c.project_id = d.project_id AND c.name = d.channel";

/// Whether any message can be sent now.
pub async fn has_due(tx: &mut Tx, now: Timestamp) -> Result<bool, Error> {
    let due = sql("SELECT COUNT(*) FROM (SELECT 1 FROM ").push(JOINED).push(" WHERE ").push(SENDABLE);
    Ok(due.push(" LIMIT 1) AS due").bind(now.millis()).fetch_number(tx).await? > 0)
}

/// Claims up to `limit` messages that can be sent now, oldest first, until `lease_until`: at most one of each channel that failed last,
/// so that only one attempt shows whether it works again. Concurrent claims never return the same one. Commit before sending them.
pub async fn claim(
    tx: &mut Tx,
    project: ProjectId,
    limit: u32,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<ClaimedMessage>, Error> {
    let skip = if tx.is_postgres() { " FOR UPDATE OF d SKIP LOCKED" } else { "" };
    let rows = sql("SELECT d.id, d.channel, c.failures FROM ")
        .push(JOINED)
        .push(" WHERE ")
        .push(SENDABLE)
        .push(" AND d.project_id = $2 ORDER BY d.due_at, d.position, d.id LIMIT $3")
        .push(skip)
        .bind(now.millis())
        .bind_text(project)
        .bind(i64::from(limit))
        .fetch_all(tx)
        .await?;
    let found =
        decode_rows(&rows, TABLE, |row| Ok((row.text("id")?, row.text("channel")?, row.count("failures")?)))?;
    let mut probed: Vec<String> = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    for (id, channel, failures) in found {
        if failures > 0 && probed.contains(&channel) {
            continue;
        }
        probed.push(channel);
        ids.push(id);
    }
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    sql("UPDATE delivery SET due_at = $1, claim_epoch = claim_epoch + 1, attempts = attempts + 1 WHERE id IN ")
        .bind(lease_until.millis())
        .push_list(&ids)
        .execute(tx)
        .await?;
    let rows = table::select_from::<NewDelivery<'_>>()
        .push(" WHERE id IN ")
        .push_list(&ids)
        .push(" ORDER BY position, id");
    // An unreadable one stays claimed and is due again after the lease; it must not stop the others.
    Ok(decode_readable_rows(&rows.fetch_all(tx).await?, TABLE, read_row))
}

/// Records that a message was delivered, and what was different about it; false if the claim is lost.
pub async fn record_success(
    tx: &mut Tx,
    claim: (DeliveryId, i64),
    note: Option<String>,
    now: Timestamp,
) -> Result<bool, Error> {
    record_success_in(tx, TABLE, claim, note, now).await
}

/// The same in a table of the outbox.
pub(crate) async fn record_success_in(
    tx: &mut Tx,
    table: &str,
    (id, epoch): (DeliveryId, i64),
    note: Option<String>,
    now: Timestamp,
) -> Result<bool, Error> {
    let update = sql("UPDATE ").push(table).push(
        " SET due_at = NULL, last_error = NULL, delivered_at = $1, note = $2 \
         WHERE id = $3 AND claim_epoch = $4 AND due_at IS NOT NULL",
    );
    let update = update.bind(now.millis()).bind(note).bind_text(id).bind(epoch);
    Ok(update.execute(tx).await? == 1)
}

/// Records that an attempt failed; false if the claim is lost.
pub async fn record_failure(
    tx: &mut Tx,
    claim: (DeliveryId, i64),
    error: &str,
    retry_at: Timestamp,
) -> Result<bool, Error> {
    record_failure_in(tx, TABLE, claim, (error, retry_at)).await
}

/// The same in a table of the outbox.
pub(crate) async fn record_failure_in(
    tx: &mut Tx,
    table: &str,
    (id, epoch): (DeliveryId, i64),
    (error, retry_at): (&str, Timestamp),
) -> Result<bool, Error> {
    let update = sql("UPDATE ").push(table).push(
        " SET due_at = $1, last_error = $2 \
         WHERE id = $3 AND claim_epoch = $4 AND due_at IS NOT NULL",
    );
    let update = update.bind(retry_at.millis()).bind_text(error).bind_text(id).bind(epoch);
    Ok(update.execute(tx).await? == 1)
}

/// Returns a message that was claimed and not tried.
pub async fn release_claim(tx: &mut Tx, claim: (DeliveryId, i64), due_at: Timestamp) -> Result<(), Error> {
    release_claim_in(tx, TABLE, claim, due_at).await
}

/// The same in a table of the outbox.
pub(crate) async fn release_claim_in(
    tx: &mut Tx,
    table: &str,
    (id, epoch): (DeliveryId, i64),
    due_at: Timestamp,
) -> Result<(), Error> {
    sql("UPDATE ")
        .push(table)
        .push(" SET due_at = $1, attempts = attempts - 1 WHERE id = $2 AND claim_epoch = $3 AND due_at IS NOT NULL")
        .bind(due_at.millis())
        .bind_text(id)
        .bind(epoch)
        .execute(tx)
        .await
        .map(drop)
}
