//! Join tokens of clusters, by id; only the hash of a token's secret is stored.

use domain::join::JoinToken;
use domain::{JoinTokenId, Timestamp};

use crate::decode::{decode_readable_rows, decode_row};
use crate::sql::{Sql, sql, to_json};
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// A token with the hash of its secret.
struct JoinTokenRow<'t> {
    token: &'t JoinToken,
    secret_sha256: &'t str,
}

table_row! {
    JoinTokenRow<'_> as row in "join_token" => JoinToken;
    Key id = row.token.id.to_string() => id: parse;
    Fixed secret_sha256 = row.secret_sha256;
    Fixed cluster_name = row.token.cluster_name.clone() => cluster_name: get;
    Fixed labels = to_json(&row.token.labels)? => labels: json;
    Fixed auto_accept = row.token.auto_accept => auto_accept: flag;
    Fixed max_uses = row.token.max_uses => max_uses: count;
    Mutable uses = row.token.uses => uses: count;
    Fixed created_by = &row.token.created_by => created_by: text;
    Fixed created_at = row.token.created_at => created_at: timestamp;
    Fixed expires_at = row.token.expires_at => expires_at: timestamp;
    Mutable revoked_at = row.token.revoked_at => revoked_at: opt_timestamp;
}

fn select() -> Sql {
    table::select_from::<JoinTokenRow<'_>>().push(" ")
}

/// Maximum number of listed tokens, newest first.
const LIST_MAX: i64 = 500;

/// Adds a token.
pub async fn insert(tx: &mut Tx, token: &JoinToken, secret_sha256: &str) -> Result<(), Error> {
    table::insert(tx, &[JoinTokenRow { token, secret_sha256 }])?.execute(tx).await.map(drop)
}

/// The token with this id and the hash of its secret; the row is locked until the transaction ends.
pub async fn get(tx: &mut Tx, id: JoinTokenId) -> Result<Option<(JoinToken, String)>, Error> {
    let row = select().push("WHERE id = $1").bind_text(id).push_locking_clause(tx).fetch_optional(tx).await?;
    decode_row(row, "join_token", |row| Ok((read_row(row)?, row.text("secret_sha256")?)))
}

/// The newest tokens, at most 500.
pub async fn list(tx: &mut Tx) -> Result<Vec<JoinToken>, Error> {
    let rows = select().push("ORDER BY id DESC LIMIT $1").bind(LIST_MAX).fetch_all(tx).await?;
    Ok(decode_readable_rows(&rows, "join_token", read_row))
}

/// The newest token that is bound to this cluster name.
pub async fn find_newest_by_cluster(tx: &mut Tx, name: &str) -> Result<Option<JoinToken>, Error> {
    let row = select().push("WHERE cluster_name = $1 ORDER BY id DESC LIMIT 1").bind_text(name);
    decode_row(row.fetch_optional(tx).await?, "join_token", read_row)
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
