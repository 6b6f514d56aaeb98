//! Join tokens of clusters, by id; only the hash of a token's secret is stored.

use domain::join::JoinToken;
use domain::{JoinTokenId, Timestamp};

use crate::decode::{DecodeError, RowReader, decode_readable_rows, decode_row};
use crate::sql::{sql, to_json};
use crate::{Error, Tx};

const SELECT: &str = "SELECT id, secret_sha256, cluster_name, labels, auto_accept, max_uses, uses, created_by, created_at, \
     expires_at, revoked_at FROM join_token ";
/// Maximum number of listed tokens, newest first.
const LIST_MAX: i64 = 500;

/// Adds a token.
pub async fn insert(tx: &mut Tx, token: &JoinToken, sha256: &str) -> Result<(), Error> {
    sql("INSERT INTO join_token (id, secret_sha256, cluster_name, labels, auto_accept, max_uses, uses, created_by, \
         created_at, expires_at, revoked_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
    .bind_text(token.id)
    .bind_text(sha256)
    .bind_opt_text(token.cluster_name.as_deref())
    .bind(to_json(&token.labels)?)
    .bind(i64::from(token.auto_accept))
    .bind(i64::from(token.max_uses))
    .bind(i64::from(token.uses))
    .bind_text(&token.created_by)
    .bind(token.created_at.millis())
    .bind(token.expires_at.millis())
    .bind(token.revoked_at.map(Timestamp::millis))
    .execute(tx)
    .await
    .map(drop)
}

/// The token with this id and the hash of its secret; the row is locked until the transaction ends.
pub async fn get(tx: &mut Tx, id: JoinTokenId) -> Result<Option<(JoinToken, String)>, Error> {
    let row =
        sql(SELECT).push("WHERE id = $1").bind_text(id).push_locking_clause(tx).fetch_optional(tx).await?;
    decode_row(row, "join_token", |row| Ok((read(row)?, row.text("secret_sha256")?)))
}

/// The newest tokens, at most 500.
pub async fn list(tx: &mut Tx) -> Result<Vec<JoinToken>, Error> {
    let rows = sql(SELECT).push("ORDER BY id DESC LIMIT $1").bind(LIST_MAX).fetch_all(tx).await?;
    Ok(decode_readable_rows(&rows, "join_token", read))
}

/// Counts one use, if any is left; returns whether one was.
pub async fn consume_use(tx: &mut Tx, id: JoinTokenId) -> Result<bool, Error> {
    let use_ = "UPDATE join_token SET uses = uses + 1 WHERE id = $1 AND uses < max_uses";
    Ok(sql(use_).bind_text(id).execute(tx).await? == 1)
}

/// Revokes a token; returns whether it existed and was not revoked before.
pub async fn revoke(tx: &mut Tx, id: JoinTokenId, at: Timestamp) -> Result<bool, Error> {
    let revoke = "UPDATE join_token SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL";
    Ok(sql(revoke).bind(at.millis()).bind_text(id).execute(tx).await? == 1)
}

fn read(row: &RowReader<'_>) -> Result<JoinToken, DecodeError> {
    Ok(JoinToken {
        id: row.parse("id")?,
        cluster_name: row.get("cluster_name")?,
        labels: row.json("labels")?,
        auto_accept: row.flag("auto_accept")?,
        max_uses: row.count("max_uses")?,
        uses: row.count("uses")?,
        created_by: row.text("created_by")?,
        created_at: row.timestamp("created_at")?,
        expires_at: row.timestamp("expires_at")?,
        revoked_at: row.opt_timestamp("revoked_at")?,
    })
}
