//! The messages about the end of publishes, each for one channel: the other part of the outbox ([`crate::delivery`]).
//!
//! A row is written with its publish, without a message. While the publish goes on, `check_at` is when its outcome is evaluated next;
//! then the row has a message, which is sent like those about incidents.

use domain::notification::{Delivery, DeliveryState, MessageKind, PublishMessage, PublishOutcome};
use domain::{DeliveryId, OperationId, ProjectId, Timestamp, WorkloadId};

use crate::decode::{DecodeError, RowReader, decode_readable_rows, decode_row, decode_rows};
use crate::sql::{sql, to_json};
use crate::{Error, Tx, delivery};

const TABLE: &str = "publish_message";

/// A publish whose end is sent to a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishWatch {
    /// The id of the message in every attempt.
    pub id: DeliveryId,
    /// The project.
    pub project: ProjectId,
    /// Name of the channel.
    pub channel: String,
    /// The operation.
    pub operation: OperationId,
    /// The workload, which may be deleted.
    pub workload: WorkloadId,
    /// Its name.
    pub workload_name: String,
    /// Number of the published revision.
    pub revision: u32,
    /// Who published.
    pub publisher: String,
    /// When it was published.
    pub created_at: Timestamp,
    /// The outcome at the last evaluation, if it may pass.
    pub outcome: Option<PublishOutcome>,
    /// Since when it is that outcome.
    pub outcome_since: Option<Timestamp>,
}

const SELECT_WATCH: &str = "SELECT id, project_id, channel, operation_id, workload_id, workload_name, revision, publisher, created_at, \
     outcome, outcome_since FROM publish_message WHERE ";

fn read_watch(row: &RowReader<'_>) -> Result<PublishWatch, DecodeError> {
    Ok(PublishWatch {
        id: row.parse("id")?,
        project: row.parse("project_id")?,
        channel: row.text("channel")?,
        operation: row.parse("operation_id")?,
        workload: row.parse("workload_id")?,
        workload_name: row.text("workload_name")?,
        revision: row.count("revision")?,
        publisher: row.text("publisher")?,
        created_at: row.timestamp("created_at")?,
        outcome: row.opt_text("outcome")?.as_deref().and_then(PublishOutcome::parse),
        outcome_since: row.opt_timestamp("outcome_since")?,
    })
}

/// Adds the watch of a publish, in its transaction; its channel is shared.
pub async fn insert(tx: &mut Tx, watch: &PublishWatch) -> Result<(), Error> {
    sql("INSERT INTO publish_message (id, project_id, channel, operation_id, workload_id, workload_name, revision, publisher, created_at, \
         check_at, claim_epoch, attempts) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0)")
        .bind_text(watch.id)
        .bind_text(watch.project)
        .bind_text(&watch.channel)
        .bind_text(watch.operation)
        .bind_text(watch.workload)
        .bind_text(&watch.workload_name)
        .bind(i64::from(watch.revision))
        .bind_text(&watch.publisher)
        .bind(watch.created_at.millis())
        .bind(watch.created_at.millis())
        .execute(tx)
        .await
        .map(drop)
}

/// The watches that are due, at most `limit`, the first due first. An unreadable one is left out.
pub async fn list_due_watches(
    tx: &mut Tx,
    project: ProjectId,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<PublishWatch>, Error> {
    let rows = sql(SELECT_WATCH)
        .push("check_at IS NOT NULL AND check_at <= $1 AND project_id = $2 ORDER BY check_at, id LIMIT $3")
        .bind(now.millis())
        .bind_text(project)
        .bind(i64::from(limit))
        .fetch_all(tx)
        .await?;
    Ok(decode_readable_rows(&rows, TABLE, read_watch))
}

/// A watch if it is still due, locked until the transaction ends: another server may have evaluated it.
pub async fn lock_due_watch(
    tx: &mut Tx,
    id: DeliveryId,
    now: Timestamp,
) -> Result<Option<PublishWatch>, Error> {
    let statement = sql(SELECT_WATCH).push("id = $1 AND check_at IS NOT NULL AND check_at <= $2");
    let row = statement.bind_text(id).bind(now.millis()).push_locking_clause(tx).fetch_optional(tx).await?;
    decode_row(row, TABLE, read_watch)
}

/// Records the outcome of a publish that goes on, and when it is evaluated next.
pub async fn postpone(
    tx: &mut Tx,
    id: DeliveryId,
    outcome: Option<(PublishOutcome, Timestamp)>,
    check_at: Timestamp,
) -> Result<(), Error> {
    sql("UPDATE publish_message SET outcome = $1, outcome_since = $2, check_at = $3 WHERE id = $4 AND check_at IS NOT NULL")
        .bind_opt_text(outcome.map(|(outcome, _)| outcome.as_str()))
        .bind(outcome.map(|(_, since)| since.millis()))
        .bind(check_at.millis())
        .bind_text(id)
        .execute(tx)
        .await
        .map(drop)
}

/// Writes the message about the end of a publish, which quiet hours may hold back.
pub async fn end_watch(
    tx: &mut Tx,
    id: DeliveryId,
    message: &PublishMessage,
    quiet_until: Option<Timestamp>,
) -> Result<(), Error> {
    sql("UPDATE publish_message SET check_at = NULL, outcome = $1, message = $2, due_at = $3, quiet_until = $4 \
         WHERE id = $5 AND check_at IS NOT NULL")
    .bind_text(message.outcome.as_str())
    .bind(to_json(message)?)
    .bind(quiet_until.unwrap_or(message.at).millis())
    .bind(quiet_until.map(Timestamp::millis))
    .bind_text(id)
    .execute(tx)
    .await
    .map(drop)
}

/// Deletes a watch: nobody is to be sent its end any more.
pub async fn delete_watch(tx: &mut Tx, id: DeliveryId) -> Result<(), Error> {
    sql("DELETE FROM publish_message WHERE id = $1 AND check_at IS NOT NULL")
        .bind_text(id)
        .execute(tx)
        .await
        .map(drop)
}

/// A message that is to be sent now, with the epoch of its claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedPublish {
    /// Its id.
    pub id: DeliveryId,
    /// Name of the channel.
    pub channel: String,
    /// The message.
    pub message: PublishMessage,
    /// The epoch of the claim.
    pub epoch: i64,
    /// Number of attempts, this one included.
    pub attempts: u32,
}

/// The messages that can be sent now: due, and of a channel that does not pause. `$1` is now.
const SENDABLE: &str = "publish_message p JOIN channel c ON c.project_id = p.project_id AND c.name = p.channel \
     WHERE p.due_at IS NOT NULL AND p.due_at <= $1 AND (c.retry_at IS NULL OR c.retry_at <= $1)";

/// Whether any message can be sent now.
pub async fn has_due(tx: &mut Tx, now: Timestamp) -> Result<bool, Error> {
    let due = sql("SELECT COUNT(*) FROM (SELECT 1 FROM ").push(SENDABLE).push(" LIMIT 1) AS due");
    Ok(due.bind(now.millis()).fetch_number(tx).await? > 0)
}

/// Claims up to `limit` messages that can be sent now, oldest first, until `lease_until`. Concurrent claims never return the same one.
/// Commit before sending them.
pub async fn claim(
    tx: &mut Tx,
    project: ProjectId,
    limit: u32,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<ClaimedPublish>, Error> {
    let skip = if tx.is_postgres() { " FOR UPDATE OF p SKIP LOCKED" } else { "" };
    let rows = sql("SELECT p.id FROM ")
        .push(SENDABLE)
        .push(" AND p.project_id = $2 ORDER BY p.due_at, p.id LIMIT $3")
        .push(skip)
        .bind(now.millis())
        .bind_text(project)
        .bind(i64::from(limit))
        .fetch_all(tx)
        .await?;
    let ids: Vec<String> = decode_rows(&rows, TABLE, |row| row.text("id"))?;
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    sql("UPDATE publish_message SET due_at = $1, claim_epoch = claim_epoch + 1, attempts = attempts + 1 WHERE id IN ")
        .bind(lease_until.millis())
        .push_list(&ids)
        .execute(tx)
        .await?;
    let rows = sql("SELECT id, channel, message, claim_epoch, attempts FROM publish_message WHERE id IN ")
        .push_list(&ids)
        .push(" ORDER BY id")
        .fetch_all(tx)
        .await?;
    // An unreadable one stays claimed and is due again after the lease; it must not stop the others.
    Ok(decode_readable_rows(&rows, TABLE, |row| {
        Ok(ClaimedPublish {
            id: row.parse("id")?,
            channel: row.text("channel")?,
            message: row.json("message")?,
            epoch: row.int("claim_epoch")?,
            attempts: row.count("attempts")?,
        })
    }))
}

/// Records that a message was delivered, and what was different about it; false if the claim is lost.
pub async fn record_success(
    tx: &mut Tx,
    claim: (DeliveryId, i64),
    note: Option<String>,
    now: Timestamp,
) -> Result<bool, Error> {
    delivery::record_success_in(tx, TABLE, claim, note, now).await
}

/// Records that an attempt failed; false if the claim is lost.
pub async fn record_failure(
    tx: &mut Tx,
    claim: (DeliveryId, i64),
    error: &str,
    retry_at: Timestamp,
) -> Result<bool, Error> {
    delivery::record_failure_in(tx, TABLE, claim, (error, retry_at)).await
}

/// Returns a message that was claimed and not tried.
pub async fn release_claim(tx: &mut Tx, claim: (DeliveryId, i64), due_at: Timestamp) -> Result<(), Error> {
    delivery::release_claim_in(tx, TABLE, claim, due_at).await
}

/// The messages about the end of a publish that ended, by channel.
pub async fn list(tx: &mut Tx, operation: OperationId) -> Result<Vec<Delivery>, Error> {
    let rows = sql("SELECT p.id, p.channel, p.created_at, p.due_at, p.attempts, p.last_error, p.delivered_at, p.quiet_until, p.note, c.retry_at \
         FROM publish_message p JOIN channel c ON c.project_id = p.project_id AND c.name = p.channel \
         WHERE p.operation_id = $1 AND p.check_at IS NULL ORDER BY p.channel, p.id LIMIT 500")
    .bind_text(operation)
    .fetch_all(tx)
    .await?;
    Ok(decode_readable_rows(&rows, TABLE, |row| {
        let delivered_at = row.opt_timestamp("delivered_at")?;
        let is_pending = delivered_at.is_none();
        let next = row.opt_timestamp("due_at")?.max(row.opt_timestamp("retry_at")?);
        Ok(Delivery {
            id: row.parse("id")?,
            channel: row.text("channel")?,
            kind: MessageKind::PublishEnded,
            state: if is_pending { DeliveryState::Pending } else { DeliveryState::Delivered },
            attempts: row.count("attempts")?,
            last_error: row.opt_text("last_error")?,
            next_attempt_at: next.filter(|_| is_pending),
            quiet_until: row.opt_timestamp("quiet_until")?,
            created_at: row.timestamp("created_at")?,
            delivered_at,
            note: row.opt_text("note")?,
        })
    }))
}
