//! Responses stored under an `Idempotency-Key`, so that a client's retry is not executed twice (P2).

use std::collections::BTreeMap;

use crate::{Actor, Error, Hub, RequestKey};

/// The status of a response that a verb stores with its effect, before the outcome is known.
pub const IN_PROGRESS: u16 = 202;

/// The name of the header with the revision of an object.
pub const ETAG: &str = "etag";

/// The name of the header with the address of an object.
pub const LOCATION: &str = "location";

/// The path of a workload in the REST API, the `Location` of what creates it.
pub fn workload_path(name: &str) -> String {
    format!("/api/v1/projects/{}/workloads/{name}", store::project::DEFAULT)
}

/// The path of the status of a workload in the REST API, the `Location` of what publishes it.
pub fn workload_status_path(name: &str) -> String {
    format!("{}/status", workload_path(name))
}

/// The value of the `ETag` of an object with this revision.
pub fn format_etag(revision: i64) -> String {
    format!("\"{revision}\"")
}

/// The stored response of an earlier request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredResponse {
    /// Its HTTP status.
    pub status: u16,
    /// Its headers that a replay repeats, by their names in lower case.
    pub headers: BTreeMap<String, String>,
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
            Some(stored) => {
                let store::idempotency::IdempotencyRecord { status, headers, body, .. } = stored;
                Ok(Some(StoredResponse { status, headers, body }))
            }
            None => Ok(None),
        }
    }

    /// Stores a response for a day, unless the verb stored it in its own transaction. What the verb stored before it had the outcome, such as
    /// that it is in progress ([`IN_PROGRESS`]), is replaced by the outcome: a replay is what the client received first.
    pub async fn store_response(
        &self,
        actor: &Actor,
        request: &RequestKey,
        response: &StoredResponse,
    ) -> Result<(), Error> {
        // Most verbs did: a read is cheaper than waiting for the write lock.
        let stored = self.stored_response(actor, &request.key, &request.request_hash).await?;
        let change = find_change(stored.as_ref(), response);
        if change == StoredChange::None {
            return Ok(());
        }
        let mut tx = self.write().await?;
        let record = store::idempotency::IdempotencyRecord {
            request_hash: request.request_hash.clone(),
            status: response.status,
            headers: response.headers.clone(),
            body: response.body.clone(),
        };
        let now = self.clock().now();
        let (key, name) = (&*request.key, &*actor.name);
        match change {
            StoredChange::None => {}
            StoredChange::Headers => {
                store::idempotency::set_headers(&mut tx, key, name, &record.headers).await?;
            }
            StoredChange::Outcome => {
                store::idempotency::replace(&mut tx, key, name, &record, now).await?;
            }
            StoredChange::Whole => match store::idempotency::put(&mut tx, key, name, &record, now).await {
                // The verb stored it in the meantime.
                Err(store::Error::AlreadyExists { .. }) => return Ok(()),
                other => other?,
            },
        }
        tx.commit().await?;
        Ok(())
    }
}

/// What is written for a response, in addition to what its verb has stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoredChange {
    /// Nothing: the verb stored the whole response.
    None,
    /// The headers that the verb does not know.
    Headers,
    /// The outcome, in place of what was known when the change was committed.
    Outcome,
    /// The response: the verb stored none.
    Whole,
}

fn find_change(stored: Option<&StoredResponse>, response: &StoredResponse) -> StoredChange {
    let Some(stored) = stored else { return StoredChange::Whole };
    let is_same = stored.status == response.status && stored.body == response.body;
    if !is_same {
        StoredChange::Outcome
    } else if stored.headers == response.headers {
        StoredChange::None
    } else {
        StoredChange::Headers
    }
}
