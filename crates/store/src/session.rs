//! Sessions of signed-in people. Only the hash of an id is kept: who reads the database can't take a session over.

use domain::{Digest, Timestamp};

use crate::record::one;
use crate::sql::sql;
use crate::{Error, Tx};

fn hash(id: &str) -> Digest {
    Digest::of(id.as_bytes())
}

/// Keeps or replaces the data of a session.
pub async fn save(tx: &mut Tx, id: &str, data: &str, expires: Timestamp) -> Result<(), Error> {
    sql("INSERT INTO session (id_hash, data, expires_at) VALUES ($1, $2, $3) \
         ON CONFLICT (id_hash) DO UPDATE SET data = excluded.data, expires_at = excluded.expires_at")
    .text(hash(id))
    .text(data)
    .bind(expires.millis())
    .run(tx)
    .await
    .map(drop)
}

/// The data of a session that has not expired.
pub async fn load(tx: &mut Tx, id: &str, now: Timestamp) -> Result<Option<String>, Error> {
    let row = sql("SELECT id_hash, data FROM session WHERE id_hash = $1 AND expires_at > $2");
    one(row.text(hash(id)).bind(now.millis()).row(tx).await?, "session", |row| row.text("data"))
}

/// Ends a session; says whether it was there.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM session WHERE id_hash = $1").text(hash(id)).run(tx).await? == 1)
}

/// Forgets the sessions that have expired; returns how many.
pub async fn delete_expired(tx: &mut Tx, now: Timestamp) -> Result<u64, Error> {
    sql("DELETE FROM session WHERE expires_at <= $1").bind(now.millis()).run(tx).await
}
