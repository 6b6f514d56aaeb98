//! Responses stored under an `Idempotency-Key`, so that a client's retry is not executed twice (P2).

use crate::{Actor, Error, Hub, RequestKey};

/// The status of a response that a verb stores with its effect, before the outcome is known.
pub const IN_PROGRESS: u16 = 202;

/// The stored response of an earlier request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// Its HTTP status.
    pub status: u16,
    /// Its body.
    pub body: String,
}

impl Hub {
    /// The response stored under this key for this actor; [`Error::IdempotencyKeyReused`] if the request differs.
    pub async fn stored_response(
        &self,
        actor: &Actor,
        key: &str,
        request_hash: &str,
    ) -> Result<Option<StoredResponse>, Error> {
        let mut tx = self.read().await?;
        match store::idempotency::find(&mut tx, key, &actor.name).await? {
            Some(stored) if stored.request_hash != request_hash => Err(Error::IdempotencyKeyReused),
            Some(stored) => Ok(Some(StoredResponse { status: stored.status, body: stored.body })),
            None => Ok(None),
        }
    }

    /// Stores a response for a day, unless the verb stored it in its own transaction. What the verb stored while it was in progress
    /// ([`IN_PROGRESS`]) is replaced by the outcome.
    pub async fn store_response(
        &self,
        actor: &Actor,
        request: &RequestKey,
        response: &StoredResponse,
    ) -> Result<(), Error> {
        // Most verbs did: a read is cheaper than waiting for the write lock.
        let stored = self.stored_response(actor, &request.key, &request.request_hash).await?;
        let is_outcome = |stored: &StoredResponse| stored.status == IN_PROGRESS && stored != response;
        if stored.as_ref().is_some_and(|stored| !is_outcome(stored)) {
            return Ok(());
        }
        let mut tx = self.write().await?;
        let record = store::idempotency::IdempotencyRecord {
            request_hash: request.request_hash.clone(),
            status: response.status,
            body: response.body.clone(),
        };
        let now = self.clock().now();
        if stored.is_some() {
            store::idempotency::replace(&mut tx, &request.key, &actor.name, &record, now).await?;
        } else {
            match store::idempotency::put(&mut tx, &request.key, &actor.name, &record, now).await {
                // The verb stored it in the meantime.
                Err(store::Error::AlreadyExists { .. }) => return Ok(()),
                other => other?,
            }
        }
        tx.commit().await?;
        Ok(())
    }
}
