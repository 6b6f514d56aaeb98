//! Answers kept under an `Idempotency-Key`, so that a client's retry does not do things twice (P2).

use crate::{Actor, Error, Hub};

/// An answer given before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Its HTTP status.
    pub status: u16,
    /// Its body.
    pub body: String,
}

impl Hub {
    /// The answer kept under this key for this actor; [`Error::KeyReused`] if the request differs.
    pub async fn replay(
        &self,
        actor: &Actor,
        key: &str,
        request_hash: &str,
    ) -> Result<Option<Replay>, Error> {
        let mut tx = self.read().await?;
        match store::idempotency::find(&mut tx, key, &actor.name).await? {
            Some(kept) if kept.request_hash != request_hash => Err(Error::KeyReused),
            Some(kept) => Ok(Some(Replay { status: kept.status, body: kept.body })),
            None => Ok(None),
        }
    }

    /// Keeps an answer for a day, for requests whose verb has not kept it in its own transaction.
    pub async fn keep_answer(
        &self,
        actor: &Actor,
        key: &str,
        request_hash: &str,
        answer: &Replay,
    ) -> Result<(), Error> {
        // Most verbs have; a look is cheaper than a place in the queue of writers.
        if self.replay(actor, key, request_hash).await?.is_some() {
            return Ok(());
        }
        let mut tx = self.write().await?;
        let kept = store::idempotency::Answer {
            request_hash: request_hash.to_owned(),
            status: answer.status,
            body: answer.body.clone(),
        };
        match store::idempotency::put(&mut tx, key, &actor.name, &kept, self.clock().now()).await {
            // The verb has kept it already.
            Err(store::Error::Unique { .. }) => return Ok(()),
            other => other?,
        }
        tx.commit().await?;
        Ok(())
    }
}
