//! A claimed message of either part of the outbox: about an incident, or about the end of a publish.

use domain::notification::MessageContent;
use domain::{DeliveryId, Timestamp};
use store::delivery::ClaimedMessage;
use store::publish_message::ClaimedPublish;
use store::{Tx, delivery, publish_message};

use crate::Error;

/// A message that is to be sent now.
pub(super) struct OutboxMessage {
    /// Its id, the same in every attempt.
    pub(super) id: DeliveryId,
    /// Name of the channel.
    pub(super) channel: String,
    /// What it is about.
    pub(super) content: MessageContent,
    /// Number of attempts, this one included.
    pub(super) attempts: u32,
    /// The epoch of the claim.
    epoch: i64,
}

impl From<ClaimedMessage> for OutboxMessage {
    fn from(claimed: ClaimedMessage) -> Self {
        Self {
            id: claimed.id,
            channel: claimed.channel,
            content: MessageContent::Incident(Box::new(claimed.message)),
            attempts: claimed.attempts,
            epoch: claimed.epoch,
        }
    }
}

impl From<ClaimedPublish> for OutboxMessage {
    fn from(claimed: ClaimedPublish) -> Self {
        Self {
            id: claimed.id,
            channel: claimed.channel,
            content: MessageContent::Publish(claimed.message),
            attempts: claimed.attempts,
            epoch: claimed.epoch,
        }
    }
}

impl OutboxMessage {
    /// Records that it was delivered, and what was different about it.
    pub(super) async fn record_success(
        &self,
        tx: &mut Tx,
        note: Option<String>,
        now: Timestamp,
    ) -> Result<(), Error> {
        let claim = (self.id, self.epoch);
        match &self.content {
            MessageContent::Incident(_) => delivery::record_success(tx, claim, note, now).await?,
            MessageContent::Publish(_) => publish_message::record_success(tx, claim, note, now).await?,
        };
        Ok(())
    }

    /// Records that an attempt failed.
    pub(super) async fn record_failure(
        &self,
        tx: &mut Tx,
        error: &str,
        retry_at: Timestamp,
    ) -> Result<(), Error> {
        let claim = (self.id, self.epoch);
        match &self.content {
            MessageContent::Incident(_) => delivery::record_failure(tx, claim, error, retry_at).await?,
            MessageContent::Publish(_) => publish_message::record_failure(tx, claim, error, retry_at).await?,
        };
        Ok(())
    }

    /// Returns it without an attempt.
    pub(super) async fn release(&self, tx: &mut Tx, due_at: Timestamp) -> Result<(), Error> {
        let claim = (self.id, self.epoch);
        match &self.content {
            MessageContent::Incident(_) => delivery::release_claim(tx, claim, due_at).await?,
            MessageContent::Publish(_) => publish_message::release_claim(tx, claim, due_at).await?,
        }
        Ok(())
    }
}
