//! Stored responses, by the idempotency key that the client sent with the request (P2).
//!
//! The response is stored in the transaction that executes the request. A client that did not receive it repeats the
//! request and receives the stored one.

use std::collections::BTreeMap;

use domain::{Digest, Timestamp};

use crate::decode::decode_row;
use crate::sealed::columns::IDEMPOTENCY_BODY;
use crate::sql::{sql, to_json};
use crate::{Error, Tx, artifact};

/// Maximum size of a body in its own row, in bytes. A larger one is an artifact, so that equal responses, such as those of
/// an unchanged workload that is applied every minute, are stored once.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// A stored response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyRecord {
    /// Hash of the request; a different request with the same key is a client error.
    pub request_hash: String,
    /// HTTP status.
    pub status: u16,
    /// The headers that a replay repeats, by their names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Body.
    pub body: String,
}

/// The response stored for this actor and key.
pub async fn find(tx: &mut Tx, key: &str, actor: &str) -> Result<Option<IdempotencyRecord>, Error> {
    let row = sql(
        "SELECT idempotency_key, actor, request_hash, status, headers, body, body_digest FROM idempotency_record \
                   WHERE idempotency_key = $1 AND actor = $2",
    )
    .bind_text(key)
    .bind_text(actor)
    .fetch_optional(tx)
    .await?;
    let found = decode_row(row, "idempotency_record", |row| {
        let status = row.count("status")?.try_into().map_err(|_| "status: out of range".to_owned())?;
        let body = row.opt_text("body")?;
        let record = IdempotencyRecord {
            request_hash: row.text("request_hash")?,
            status,
            headers: row.json("headers")?,
            body: body.unwrap_or_default(),
        };
        Ok((record, row.opt_parse::<Digest>("body_digest")?))
    })?;
    let Some((record, digest)) = found else { return Ok(None) };
    let Some(digest) = digest else { return Ok(Some(record)) };
    let missing = || Error::MissingRow { table: "artifact", id: digest.to_string() };
    let bytes = artifact::get(tx, &digest).await?.ok_or_else(missing)?;
    Ok(Some(IdempotencyRecord { body: String::from_utf8_lossy(&bytes).into_owned(), ..record }))
}

/// Stores a response. [`Error::AlreadyExists`] if the same request was executed meanwhile: roll back, and [`find`] its
/// response.
pub async fn put(
    tx: &mut Tx,
    key: &str,
    actor: &str,
    record: &IdempotencyRecord,
    at: Timestamp,
) -> Result<(), Error> {
    let bytes = record.body.as_bytes();
    let digest = (bytes.len() > MAX_INLINE_BYTES).then(|| Digest::compute(bytes));
    if let Some(digest) = &digest {
        artifact::put(tx, digest, bytes, at).await?;
    }
    let row_key = [key.to_owned(), actor.to_owned()];
    let inline = digest.is_none().then(|| tx.seal_text(&IDEMPOTENCY_BODY, &row_key, record.body.clone()));
    sql("INSERT INTO idempotency_record (idempotency_key, actor, request_hash, status, headers, body, body_digest, created_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
    .bind_text(key)
    .bind_text(actor)
    .bind_text(&record.request_hash)
    .bind(i64::from(record.status))
    .bind(to_json(&record.headers)?)
    .bind(inline)
    .bind_opt_text(digest.as_ref())
    .bind(at.millis())
    .execute(tx)
    .await?;
    tx.settle_response();
    Ok(())
}

/// Replaces a response. Nothing happens if there is none under this key.
pub async fn replace(
    tx: &mut Tx,
    key: &str,
    actor: &str,
    record: &IdempotencyRecord,
    at: Timestamp,
) -> Result<(), Error> {
    let deleted = sql("DELETE FROM idempotency_record WHERE idempotency_key = $1 AND actor = $2")
        .bind_text(key)
        .bind_text(actor)
        .execute(tx)
        .await?;
    if deleted == 0 { Ok(()) } else { put(tx, key, actor, record, at).await }
}

/// Sets the headers of a response. Nothing happens if there is none under this key.
pub async fn set_headers(
    tx: &mut Tx,
    key: &str,
    actor: &str,
    headers: &BTreeMap<String, String>,
) -> Result<(), Error> {
    sql("UPDATE idempotency_record SET headers = $1 WHERE idempotency_key = $2 AND actor = $3")
        .bind(to_json(headers)?)
        .bind_text(key)
        .bind_text(actor)
        .execute(tx)
        .await
        .map(drop)
}
