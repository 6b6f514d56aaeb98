//! Sends what is in the outbox: in order per incident, with growing pauses while a channel fails, and without end.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::Timestamp;
use domain::notification::retry_pause_millis;
use futures::future::join_all;
use store::channel::ChannelRow;
use tokio::time::Instant;

use super::outbox_message::OutboxMessage;
use crate::hub::CommitEffects;
use crate::{Error, Hub};

/// Messages claimed in one pass.
const BATCH: u32 = 32;
/// Lease of a claim, in milliseconds.
const CLAIM_MILLIS: i64 = 120_000;
/// Least rest of the lease with which another message is sent, in milliseconds; longer than the timeout of a request.
const MIN_LEASE_MILLIS: i64 = 30_000;
/// How long one channel is sent messages in a pass: a slow receiver delays the others by one request more at most.
const CHANNEL_TIME: Duration = Duration::from_secs(3);

impl Hub {
    /// Writes the messages about publishes that ended, and sends the messages that are due; returns how many were tried. The channels are
    /// independent of each other.
    ///
    /// # Errors
    /// The database can't be reached, or a channel can't be read.
    pub async fn send_due_deliveries(&self) -> Result<usize, Error> {
        Box::pin(self.end_due_publishes()).await?;
        let now = self.clock().now();
        let mut tx = self.read().await?;
        if !store::delivery::has_due(&mut tx, now).await?
            && !store::publish_message::has_due(&mut tx, now).await?
        {
            return Ok(0);
        }
        drop(tx);
        let lease_until = now.plus_millis(CLAIM_MILLIS);
        let mut tx = self.write().await?;
        let project = self.project();
        let incidents = store::delivery::claim(&mut tx, project, BATCH, now, lease_until).await?;
        let publishes = store::publish_message::claim(&mut tx, project, BATCH, now, lease_until).await?;
        let channels = store::channel::list(&mut tx, self.project()).await?;
        tx.commit().await?;
        let tried = incidents.len() + publishes.len();
        let incidents = incidents.into_iter().map(OutboxMessage::from);
        let mut by_channel: BTreeMap<String, Vec<OutboxMessage>> = BTreeMap::new();
        for message in incidents.chain(publishes.into_iter().map(OutboxMessage::from)) {
            by_channel.entry(message.channel.clone()).or_default().push(message);
        }
        let sends = channels.into_iter().filter_map(|channel| {
            let messages = by_channel.remove(&channel.name)?;
            Some(self.send_to_channel(channel, messages, lease_until))
        });
        join_all(sends).await.into_iter().collect::<Result<Vec<()>, Error>>()?;
        Ok(tried)
    }

    /// Sends messages to one channel, until it fails.
    async fn send_to_channel(
        &self,
        channel: ChannelRow,
        messages: Vec<OutboxMessage>,
        lease_until: Timestamp,
    ) -> Result<(), Error> {
        let mut is_stopped = false;
        let started = Instant::now();
        for message in messages {
            let now = self.clock().now();
            if is_stopped
                || started.elapsed() > CHANNEL_TIME
                || now.plus_millis(MIN_LEASE_MILLIS) > lease_until
            {
                let mut tx = self.write().await?;
                message.release(&mut tx, now).await?;
                tx.commit().await?;
                continue;
            }
            is_stopped = !self.send_claimed(&channel, &message).await?;
        }
        Ok(())
    }

    /// Sends one message and records the outcome; false if the channel as a whole fails.
    async fn send_claimed(&self, channel: &ChannelRow, claimed: &OutboxMessage) -> Result<bool, Error> {
        let sent = self.send_message(channel, claimed.id, &claimed.content).await;
        let now = self.clock().now();
        let name = channel.name.as_str();
        let mut tx = self.write().await?;
        let mut is_usable = true;
        match sent {
            Ok(note) => {
                // The channel first: a deletion locks it, then the messages that it deletes.
                store::channel::record_success(&mut tx, channel.project, name, now).await?;
                // Also if the claim is lost: the receiver has it, and drops a second one with the same id.
                claimed.record_success(&mut tx, note, now).await?;
            }
            Err(failure) if failure.is_about_message => {
                let retry_at = now.plus_millis(retry_pause_millis(claimed.attempts));
                claimed.record_failure(&mut tx, &failure.message, retry_at).await?;
            }
            Err(failure) => {
                is_usable = false;
                let failures = channel.failures.saturating_add(1);
                let retry_at = now.plus_millis(retry_pause_millis(failures));
                let channel = (channel.project, name);
                store::channel::record_failure(&mut tx, channel, failures, &failure.message, retry_at)
                    .await?;
                claimed.record_failure(&mut tx, &failure.message, retry_at).await?;
                tracing::warn!(
                    channel = name,
                    failures,
                    reason = failure.message,
                    "a message was not delivered; it is sent again"
                );
            }
        }
        self.commit(tx, CommitEffects::default()).await?;
        Ok(is_usable)
    }
}
