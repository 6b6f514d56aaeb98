//! Answers that were given, by the key the client sent with the request (P2).
//!
//! The answer is put in the transaction that does what was asked. A client that never saw it asks again and gets it.

use domain::Timestamp;

use crate::record::one;
use crate::sql::sql;
use crate::{Error, Tx};

/// An answer that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Hash of the request; another request with the same key is a mistake of the client.
    pub request_hash: String,
    /// HTTP status.
    pub status: u16,
    /// Body.
    pub body: String,
}

/// The answer given to this actor for this key.
pub async fn find(tx: &mut Tx, key: &str, actor: &str) -> Result<Option<Answer>, Error> {
    let row = sql("SELECT idempotency_key, request_hash, status, body FROM idempotency \
                   WHERE idempotency_key = $1 AND actor = $2")
    .text(key)
    .text(actor)
    .row(tx)
    .await?;
    one(row, "idempotency", |row| {
        let status = row.count("status")?.try_into().map_err(|_| "status: out of range".to_owned())?;
        Ok(Answer { request_hash: row.text("request_hash")?, status, body: row.text("body")? })
    })
}

/// Keeps an answer. [`Error::Unique`] if the same request was answered meanwhile: roll back, and [`find`] it.
pub async fn put(tx: &mut Tx, key: &str, actor: &str, answer: &Answer, at: Timestamp) -> Result<(), Error> {
    sql("INSERT INTO idempotency (idempotency_key, actor, request_hash, status, body, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6)")
    .text(key)
    .text(actor)
    .text(&answer.request_hash)
    .bind(i64::from(answer.status))
    .text(&answer.body)
    .bind(at.millis())
    .run(tx)
    .await
    .map(drop)
}

/// Forgets the answers given before `at`; returns how many.
pub async fn delete_before(tx: &mut Tx, at: Timestamp) -> Result<u64, Error> {
    sql("DELETE FROM idempotency WHERE created_at < $1").bind(at.millis()).run(tx).await
}
