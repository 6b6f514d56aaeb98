//! Sessions of signed-in users. Only the hash of a session id is stored: reading the database does not reveal usable
//! ids.

use domain::{Digest, Timestamp, UserId};

use crate::decode::{decode_readable_rows, decode_row};
use crate::sql::sql;
use crate::{Error, Tx};

/// Most sessions of a user that are listed.
const LIST_MAX: i64 = 200;
/// Hex digits of the hash that are the public id of a session.
const PUBLIC_ID_DIGITS: usize = 32;

/// Whose session it is, and where it is used.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionDetails {
    /// The user; `None` before the sign-in is complete.
    pub user: Option<UserId>,
    /// When the user signed in.
    pub signed_in_at: Timestamp,
    /// When it was last used, as far as that is recorded.
    pub used_at: Timestamp,
    /// The network address of the sign-in; may be empty.
    pub address: String,
    /// The `User-Agent` of the sign-in; may be empty.
    pub user_agent: String,
}

/// A session in the list of its user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionRow {
    /// Its public id.
    pub id: String,
    /// Whose it is, and where it is used.
    pub details: SessionDetails,
    /// When it expires without further use.
    pub expires_at: Timestamp,
}

/// The hash under which the session with this id is stored.
pub fn hash_id(id: &str) -> Digest {
    Digest::compute(id.as_bytes())
}

/// The id under which a session is listed and revoked; it authenticates nobody.
pub fn public_id(id: &str) -> String {
    shorten_hash(hash_id(id).as_str())
}

fn shorten_hash(hash: &str) -> String {
    hash.trim_start_matches("sha256:").chars().take(PUBLIC_ID_DIGITS).collect()
}

/// Stores a new session.
pub async fn insert(
    tx: &mut Tx,
    id: &str,
    data: &str,
    expires: Timestamp,
    details: &SessionDetails,
) -> Result<(), Error> {
    sql("INSERT INTO session (id_hash, data, expires_at, user_id, signed_in_at, used_at, address, user_agent) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8)")
    .bind_text(hash_id(id))
    .bind_text(data)
    .bind(expires.millis())
    .bind_opt_text(details.user)
    .bind(details.signed_in_at.millis())
    .bind(details.used_at.millis())
    .bind_text(&details.address)
    .bind_text(&details.user_agent)
    .execute(tx)
    .await
    .map(drop)
}

/// Replaces the data of a session; returns whether it exists. A session that was deleted meanwhile stays deleted.
pub async fn update(
    tx: &mut Tx,
    id: &str,
    data: &str,
    expires: Timestamp,
    details: &SessionDetails,
) -> Result<bool, Error> {
    let changed = sql("UPDATE session SET data = $1, expires_at = $2, user_id = $3, signed_in_at = $4, \
                       used_at = $5, address = $6, user_agent = $7 WHERE id_hash = $8")
    .bind_text(data)
    .bind(expires.millis())
    .bind_opt_text(details.user)
    .bind(details.signed_in_at.millis())
    .bind(details.used_at.millis())
    .bind_text(&details.address)
    .bind_text(&details.user_agent)
    .bind_text(hash_id(id))
    .execute(tx)
    .await?;
    Ok(changed == 1)
}

/// The data of a session that has not expired.
pub async fn load(tx: &mut Tx, id: &str, now: Timestamp) -> Result<Option<String>, Error> {
    let row = sql("SELECT id_hash, data FROM session WHERE id_hash = $1 AND expires_at > $2");
    decode_row(row.bind_text(hash_id(id)).bind(now.millis()).fetch_optional(tx).await?, "session", |row| {
        row.text("data")
    })
}

/// The sessions of this user that have not expired, last used first, at most 200.
pub async fn list_by_user(tx: &mut Tx, user: UserId, now: Timestamp) -> Result<Vec<SessionRow>, Error> {
    let rows = sql("SELECT id_hash, expires_at, signed_in_at, used_at, address, user_agent FROM session \
                    WHERE user_id = $1 AND expires_at > $2 ORDER BY used_at DESC, id_hash LIMIT $3")
    .bind_text(user)
    .bind(now.millis())
    .bind(LIST_MAX)
    .fetch_all(tx)
    .await?;
    Ok(decode_readable_rows(&rows, "session", |row| {
        let details = SessionDetails {
            user: Some(user),
            signed_in_at: row.timestamp("signed_in_at")?,
            used_at: row.timestamp("used_at")?,
            address: row.text("address")?,
            user_agent: row.text("user_agent")?,
        };
        Ok(SessionRow {
            id: shorten_hash(&row.text("id_hash")?),
            details,
            expires_at: row.timestamp("expires_at")?,
        })
    }))
}

/// Deletes a session; returns whether it existed.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM session WHERE id_hash = $1").bind_text(hash_id(id)).execute(tx).await? == 1)
}

/// Whether a session with this hash of its id exists and has not expired.
pub async fn is_valid(tx: &mut Tx, id_hash: &Digest, now: Timestamp) -> Result<bool, Error> {
    let count = sql("SELECT COUNT(*) FROM session WHERE id_hash = $1 AND expires_at > $2");
    Ok(count.bind_text(id_hash).bind(now.millis()).fetch_number(tx).await? == 1)
}

/// Deletes the session of this user with this public id; returns whether it existed.
pub async fn delete_by_public_id(tx: &mut Tx, user: UserId, public_id: &str) -> Result<bool, Error> {
    // Anything else could contain a wildcard.
    if public_id.len() != PUBLIC_ID_DIGITS || !public_id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(false);
    }
    let deleted = sql("DELETE FROM session WHERE user_id = $1 AND id_hash LIKE $2")
        .bind_text(user)
        .bind_text(format!("sha256:{public_id}%"))
        .execute(tx)
        .await?;
    Ok(deleted > 0)
}

/// Deletes the oldest sessions of this user that have not expired, except the one with the id `newest` and as many others as are `retained`;
/// returns how many. The user is locked, so that sign-ins at once leave no more.
pub async fn delete_oldest(
    tx: &mut Tx,
    (user, newest): (UserId, &str),
    retained: i64,
    now: Timestamp,
) -> Result<u64, Error> {
    let delete = sql("DELETE FROM session WHERE user_id = $1 AND id_hash <> $2 AND expires_at > $3 \
                      AND id_hash NOT IN (SELECT id_hash FROM session \
                      WHERE user_id = $1 AND id_hash <> $2 AND expires_at > $3 \
                      ORDER BY signed_in_at DESC, id_hash LIMIT $4)");
    let delete = delete.bind_text(user).bind_text(hash_id(newest)).bind(now.millis()).bind(retained);
    delete.execute(tx).await
}

/// Deletes every session of this user, except the one with this id; returns how many.
pub async fn delete_by_user(tx: &mut Tx, user: UserId, except: Option<&str>) -> Result<u64, Error> {
    let except = except.map(|id| hash_id(id).to_string()).unwrap_or_default();
    let delete = sql("DELETE FROM session WHERE user_id = $1 AND id_hash <> $2");
    delete.bind_text(user).bind_text(except).execute(tx).await
}
