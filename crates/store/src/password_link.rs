//! Links with which users set their passwords, by the hash of their secret; at most one per user.

use domain::{Timestamp, UserId};

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx};

/// Stores the link of a user, in place of an earlier one.
pub async fn put(tx: &mut Tx, user: UserId, secret_sha256: &str, expires_at: Timestamp) -> Result<(), Error> {
    sql("INSERT INTO password_link (user_id, secret_sha256, expires_at) VALUES ($1, $2, $3) \
         ON CONFLICT (user_id) DO UPDATE SET secret_sha256 = excluded.secret_sha256, expires_at = excluded.expires_at")
    .bind_text(user)
    .bind_text(secret_sha256)
    .bind(expires_at.millis())
    .execute(tx)
    .await
    .map(drop)
}

/// The user of the link with this hash, unless it has expired.
pub async fn find_user(tx: &mut Tx, secret_sha256: &str, now: Timestamp) -> Result<Option<UserId>, Error> {
    let row = sql("SELECT user_id AS id FROM password_link WHERE secret_sha256 = $1 AND expires_at > $2");
    let row = row.bind_text(secret_sha256).bind(now.millis()).fetch_optional(tx).await?;
    decode_row(row, "password_link", |row| row.parse("id"))
}

/// Deletes the link with this hash; returns whether there was one. Of two transactions with the same link one finds it.
pub async fn consume(tx: &mut Tx, secret_sha256: &str) -> Result<bool, Error> {
    let delete = sql("DELETE FROM password_link WHERE secret_sha256 = $1");
    Ok(delete.bind_text(secret_sha256).execute(tx).await? == 1)
}

/// Deletes the link of a user, if there is one.
pub async fn delete(tx: &mut Tx, user: UserId) -> Result<(), Error> {
    sql("DELETE FROM password_link WHERE user_id = $1").bind_text(user).execute(tx).await.map(drop)
}
