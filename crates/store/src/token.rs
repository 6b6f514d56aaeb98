//! API tokens, by the hash of their secret; the secret itself is not stored.

use std::fmt;

use domain::role::Role;
use domain::token_actions::TokenActions;
use domain::{ProjectId, Timestamp, TokenId, UserId};

use crate::decode::{decode_readable_rows, decode_row};
use crate::sql::{Sql, sql};
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// An API token.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiTokenRecord {
    /// Its id.
    pub id: TokenId,
    /// Its name, chosen by its owner.
    pub name: String,
    /// Its owner.
    pub user: UserId,
    /// SHA-256 of its secret, in hex.
    pub secret_sha256: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it expires; `None` for never.
    pub expires_at: Option<Timestamp>,
    /// When it was last used.
    pub used_at: Option<Timestamp>,
    /// Its role; the role of its owner limits it further.
    pub role: Role,
    /// The project that it was created for; `None` for the organisation.
    pub project: Option<ProjectId>,
    /// Whether it may create further tokens.
    pub can_mint: bool,
    /// The only actions that it may do in addition to reading; `None` for all of its role.
    pub actions: Option<TokenActions>,
}

/// Without the hash: it must not appear in a log.
impl fmt::Debug for ApiTokenRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiToken").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

/// Minimum interval between updates of `used_at`, in milliseconds: reading with a token writes at most once a minute.
const USE_INTERVAL_MILLIS: i64 = 60_000;

table_row! {
    ApiTokenRecord as token in "api_token" => ApiTokenRecord;
    Key id = token.id.to_string() => id: parse;
    Fixed name = &token.name => name: text;
    Fixed user_id = token.user.to_string() => user: parse;
    Fixed secret_sha256 = &token.secret_sha256 => secret_sha256: text;
    Fixed created_at = token.created_at => created_at: timestamp;
    Fixed expires_at = token.expires_at => expires_at: opt_timestamp;
    Mutable used_at = token.used_at => used_at: opt_timestamp;
    Fixed role = token.role.as_str() => role: parse;
    Fixed project_id = token.project.map(|project| project.to_string()) => project: opt_parse;
    Fixed can_mint = token.can_mint => can_mint: flag;
    Fixed actions = token.actions.as_ref().map(ToString::to_string) => actions: opt_parse;
}

fn select() -> Sql {
    table::select_from::<ApiTokenRecord>().push(" WHERE ")
}

/// Adds a token.
pub async fn insert(tx: &mut Tx, token: &ApiTokenRecord) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(token))?.execute(tx).await.map(drop)
}

/// The token with this hash, unless it has expired.
pub async fn get_by_hash(tx: &mut Tx, sha256: &str, now: Timestamp) -> Result<Option<ApiTokenRecord>, Error> {
    let row = select().push("secret_sha256 = $1 AND (expires_at IS NULL OR expires_at > $2)");
    decode_row(row.bind_text(sha256).bind(now.millis()).fetch_optional(tx).await?, "api_token", read_row)
}

/// The token with this id, unless it has expired.
pub async fn get(tx: &mut Tx, id: TokenId, now: Timestamp) -> Result<Option<ApiTokenRecord>, Error> {
    let row = select().push("id = $1 AND (expires_at IS NULL OR expires_at > $2)");
    decode_row(row.bind_text(id).bind(now.millis()).fetch_optional(tx).await?, "api_token", read_row)
}

/// Records the use of a token; writes at most once a minute.
pub async fn record_use(tx: &mut Tx, id: TokenId, at: Timestamp) -> Result<(), Error> {
    sql("UPDATE api_token SET used_at = $1 WHERE id = $2 AND (used_at IS NULL OR used_at < $3)")
        .bind(at.millis())
        .bind_text(id)
        .bind(at.plus_millis(-USE_INTERVAL_MILLIS).millis())
        .execute(tx)
        .await
        .map(drop)
}

/// The tokens of a user, oldest first.
pub async fn list(tx: &mut Tx, user: UserId) -> Result<Vec<ApiTokenRecord>, Error> {
    let rows = select().push("user_id = $1 ORDER BY id").bind_text(user).fetch_all(tx).await?;
    Ok(decode_readable_rows(&rows, "api_token", read_row))
}

/// Deletes a token of this user; returns whether it existed.
pub async fn delete(tx: &mut Tx, user: UserId, id: TokenId) -> Result<bool, Error> {
    Ok(sql("DELETE FROM api_token WHERE id = $1 AND user_id = $2")
        .bind_text(id)
        .bind_text(user)
        .execute(tx)
        .await?
        == 1)
}
