//! API tokens, by the hash of their secret; the secret itself is never here.

use std::fmt;

use domain::{Timestamp, TokenId, UserId};

use crate::record::{Record, Why, all, one};
use crate::sql::sql;
use crate::{Error, Tx};

/// An API token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// What its owner calls it.
    pub name: String,
    /// Whose it is.
    pub user: UserId,
    /// SHA-256 of its secret, in hex.
    pub sha256: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// When it was last used.
    pub used_at: Option<Timestamp>,
}

/// Without the hash: it must not end up in a log.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

/// A use is noted when the last one noted is older than this, so that reading with a token writes once a minute.
const NOTED_EVERY: i64 = 60_000;

const SELECT: &str = "SELECT id, name, user_id, sha256, created_at, expires_at, used_at FROM token WHERE ";

/// Adds a token.
pub async fn insert(tx: &mut Tx, token: &Token) -> Result<(), Error> {
    sql("INSERT INTO token (id, name, user_id, sha256, created_at, expires_at, used_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7)")
    .text(token.id)
    .text(&token.name)
    .text(token.user)
    .text(&token.sha256)
    .bind(token.created_at.millis())
    .bind(token.expires_at.map(Timestamp::millis))
    .bind(token.used_at.map(Timestamp::millis))
    .run(tx)
    .await
    .map(drop)
}

/// The token with this hash, unless it has ended.
pub async fn by_hash(tx: &mut Tx, sha256: &str, now: Timestamp) -> Result<Option<Token>, Error> {
    let row = sql(SELECT).push("sha256 = $1 AND (expires_at IS NULL OR expires_at > $2)");
    one(row.text(sha256).bind(now.millis()).row(tx).await?, "token", read)
}

/// Notes that a token was used; at most once a minute something is written.
pub async fn touch_used(tx: &mut Tx, id: TokenId, at: Timestamp) -> Result<(), Error> {
    sql("UPDATE token SET used_at = $1 WHERE id = $2 AND (used_at IS NULL OR used_at < $3)")
        .bind(at.millis())
        .text(id)
        .bind(at.plus_millis(-NOTED_EVERY).millis())
        .run(tx)
        .await
        .map(drop)
}

/// The tokens of a person, oldest first.
pub async fn list(tx: &mut Tx, user: UserId) -> Result<Vec<Token>, Error> {
    let rows = sql(SELECT).push("user_id = $1 ORDER BY id").text(user).rows(tx).await?;
    Ok(all(&rows, "token", read))
}

/// Ends a token of this person; says whether it was there.
pub async fn delete(tx: &mut Tx, user: UserId, id: TokenId) -> Result<bool, Error> {
    Ok(sql("DELETE FROM token WHERE id = $1 AND user_id = $2").text(id).text(user).run(tx).await? == 1)
}

fn read(row: &Record<'_>) -> Result<Token, Why> {
    Ok(Token {
        id: row.parse("id")?,
        name: row.text("name")?,
        user: row.parse("user_id")?,
        sha256: row.text("sha256")?,
        created_at: row.at("created_at")?,
        expires_at: row.opt_at("expires_at")?,
        used_at: row.opt_at("used_at")?,
    })
}
