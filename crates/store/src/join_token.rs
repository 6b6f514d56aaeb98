//! Tokens with which clusters join, by id; of the secret only its hash is here.

use domain::join::JoinToken;
use domain::{JoinTokenId, Timestamp};

use crate::record::{Record, Why, all, one};
use crate::sql::{json, sql};
use crate::{Error, Tx};

const SELECT: &str = "SELECT id, sha256, cluster_name, labels, auto_accept, max_uses, uses, created_by, created_at, \
     expires_at, revoked_at FROM join_token ";
/// Tokens listed at most, newest first.
const LISTED: i64 = 500;

/// Adds a token.
pub async fn insert(tx: &mut Tx, token: &JoinToken, sha256: &str) -> Result<(), Error> {
    sql("INSERT INTO join_token (id, sha256, cluster_name, labels, auto_accept, max_uses, uses, created_by, \
         created_at, expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
    .text(token.id)
    .text(sha256)
    .opt_text(token.cluster_name.as_deref())
    .bind(json(&token.labels)?)
    .bind(i64::from(token.auto_accept))
    .bind(i64::from(token.max_uses))
    .bind(i64::from(token.uses))
    .text(&token.created_by)
    .bind(token.created_at.millis())
    .bind(token.expires_at.millis())
    .bind(token.revoked_at.map(Timestamp::millis))
    .run(tx)
    .await
    .map(drop)
}

/// The token with this id and the hash of its secret; the row is kept for the transaction.
pub async fn get(tx: &mut Tx, id: JoinTokenId) -> Result<Option<(JoinToken, String)>, Error> {
    let row = sql(SELECT).push("WHERE id = $1").text(id).locking(tx).row(tx).await?;
    one(row, "join_token", |row| Ok((read(row)?, row.text("sha256")?)))
}

/// The newest tokens, at most 500.
pub async fn list(tx: &mut Tx) -> Result<Vec<JoinToken>, Error> {
    let rows = sql(SELECT).push("ORDER BY id DESC LIMIT $1").bind(LISTED).rows(tx).await?;
    Ok(all(&rows, "join_token", read))
}

/// Counts a use, if one is left; says whether one was.
pub async fn use_once(tx: &mut Tx, id: JoinTokenId) -> Result<bool, Error> {
    let use_ = "UPDATE join_token SET uses = uses + 1 WHERE id = $1 AND uses < max_uses";
    Ok(sql(use_).text(id).run(tx).await? == 1)
}

/// Ends a token; says whether it was there and had not been ended.
pub async fn revoke(tx: &mut Tx, id: JoinTokenId, at: Timestamp) -> Result<bool, Error> {
    let revoke = "UPDATE join_token SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";
    Ok(sql(revoke).bind(at.millis()).text(id).run(tx).await? == 1)
}

/// Forgets tokens that ended before `before`; returns how many.
pub async fn delete_before(tx: &mut Tx, before: Timestamp) -> Result<u64, Error> {
    sql("DELETE FROM join_token WHERE expires_at < $1").bind(before.millis()).run(tx).await
}

fn read(row: &Record<'_>) -> Result<JoinToken, Why> {
    Ok(JoinToken {
        id: row.parse("id")?,
        cluster_name: row.get("cluster_name")?,
        labels: row.json("labels")?,
        auto_accept: row.flag("auto_accept")?,
        max_uses: row.count("max_uses")?,
        uses: row.count("uses")?,
        created_by: row.text("created_by")?,
        created_at: row.at("created_at")?,
        expires_at: row.at("expires_at")?,
        revoked_at: row.opt_at("revoked_at")?,
    })
}
