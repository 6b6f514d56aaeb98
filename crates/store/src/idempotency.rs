//! Stored responses, by the idempotency key that the client sent with the request (P2).
//!
//! The response is stored in the transaction that executes the request. A client that did not receive it repeats the
//! request and receives the stored one.

use domain::Timestamp;

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx};

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// Hash of the request; a different request with the same key is a client error.
    pub request_hash: String,
    /// HTTP status.
    pub status: u16,
    /// Body.
    pub body: String,
}

/// The response stored for this actor and key.
pub async fn find(tx: &mut Tx, key: &str, actor: &str) -> Result<Option<IdempotencyRecord>, Error> {
    let row = sql("SELECT idempotency_key, request_hash, status, body FROM idempotency_record \
                   WHERE idempotency_key = $1 AND actor = $2")
    .bind_text(key)
    .bind_text(actor)
    .fetch_optional(tx)
    .await?;
    decode_row(row, "idempotency_record", |row| {
        let status = row.count("status")?.try_into().map_err(|_| "status: out of range".to_owned())?;
        Ok(IdempotencyRecord { request_hash: row.text("request_hash")?, status, body: row.text("body")? })
    })
}

/// Stores a response. [`Error::AlreadyExists`] if the same request was executed meanwhile: roll back, and [`find`] its
/// response.
pub async fn put(
    tx: &mut Tx,
    key: &str,
    actor: &str,
    answer: &IdempotencyRecord,
    at: Timestamp,
) -> Result<(), Error> {
    sql("INSERT INTO idempotency_record (idempotency_key, actor, request_hash, status, body, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)")
    .bind_text(key)
    .bind_text(actor)
    .bind_text(&answer.request_hash)
    .bind(i64::from(answer.status))
    .bind_text(&answer.body)
    .bind(at.millis())
    .execute(tx)
    .await
    .map(drop)
}
