//! Sessions of signed-in users. Only the hash of a session id is stored: reading the database does not reveal usable
//! ids.

use domain::{Digest, Timestamp};

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx};

fn hash_id(id: &str) -> Digest {
    Digest::compute(id.as_bytes())
}

/// Stores or replaces the data of a session.
pub async fn save(tx: &mut Tx, id: &str, data: &str, expires: Timestamp) -> Result<(), Error> {
    sql("INSERT INTO session (id_hash, data, expires_at) VALUES ($1, $2, $3) \
         ON CONFLICT (id_hash) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at")
    .bind_text(hash_id(id))
    .bind_text(data)
    .bind(expires.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// The data of a session that has not expired.
pub async fn load(tx: &mut Tx, id: &str, now: Timestamp) -> Result<Option<String>, Error> {
    let row = sql("SELECT id_hash, data FROM session WHERE id_hash = $1 AND expires_at > $2");
    decode_row(row.bind_text(hash_id(id)).bind(now.millis()).fetch_optional(tx).await?, "session", |row| {
        row.text("data")
    })
}

/// Deletes a session; returns whether it existed.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM session WHERE id_hash = $1").bind_text(hash_id(id)).execute(tx).await? == 1)
}
