//! Artifacts: bytes by the digest of what was encrypted, which agents verify. Bundles, which releases reference, API schemas, which clusters reference, and large
//! responses, which idempotency records reference.

use domain::{Digest, Timestamp};

use crate::decode::decode_row;
use crate::sealed::columns::ARTIFACT_BODY;
use crate::sql::sql;
use crate::{Error, Tx};

/// Minimum interval between updates of `last_put_at`, in milliseconds: shorter than the retention of an unreferenced
/// artifact.
const TOUCH_INTERVAL_MILLIS: i64 = 24 * 3_600_000;

/// Stores bytes under their digest, which the caller has computed. Writes nothing if they exist and were put within a
/// day.
pub async fn put(tx: &mut Tx, digest: &Digest, bytes: &[u8], at: Timestamp) -> Result<(), Error> {
    let touched = "SELECT last_put_at FROM artifact WHERE digest = $1";
    let row = sql(touched).bind_text(digest).fetch_optional(tx).await?;
    let fresh = |touched: Timestamp| at.millis_since(touched) <= TOUCH_INTERVAL_MILLIS;
    if decode_row(row, "artifact", |row| row.timestamp("last_put_at"))?.is_some_and(fresh) {
        return Ok(());
    }
    sql("INSERT INTO artifact (digest, last_put_at, body) VALUES ($1, $2, $3) \
         ON CONFLICT (digest) DO UPDATE SET last_put_at = excluded.last_put_at")
    .bind_text(digest)
    .bind(at.millis())
    .bind(tx.seal_bytes(&ARTIFACT_BODY, &[digest.to_string()], bytes))
    .execute(tx)
    .await
    .map(drop)
}

/// The bytes with this digest, if they exist.
pub async fn get(tx: &mut Tx, digest: &Digest) -> Result<Option<Vec<u8>>, Error> {
    let row = sql("SELECT digest, body FROM artifact WHERE digest = $1")
        .bind_text(digest)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "artifact", |row| row.bytes("body"))
}

/// How many bytes with this digest are stored, or a few more: what their encryption adds is counted. `None` if there are none.
pub async fn measure(tx: &mut Tx, digest: &Digest) -> Result<Option<usize>, Error> {
    let row = sql("SELECT digest, OCTET_LENGTH(body) AS bytes FROM artifact WHERE digest = $1")
        .bind_text(digest)
        .fetch_optional(tx)
        .await?;
    let bytes = decode_row(row, "artifact", |row| row.int("bytes"))?;
    Ok(bytes.map(|bytes| usize::try_from(bytes).unwrap_or_default()))
}

/// Whether bytes with this digest exist.
pub async fn exists(tx: &mut Tx, digest: &Digest) -> Result<bool, Error> {
    let count =
        sql("SELECT COUNT(*) FROM artifact WHERE digest = $1").bind_text(digest).fetch_number(tx).await?;
    Ok(count > 0)
}
