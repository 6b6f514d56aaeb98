//! Users who can sign in.

use std::fmt;

use domain::role::{Role, ScopeKind};
use domain::{Timestamp, UserId};

use crate::decode::{decode_readable_rows, decode_row};
use crate::role_binding::ORGANIZATION;
use crate::sql::sql;
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// A user as stored.
#[derive(Clone, PartialEq, Eq)]
pub struct UserRow {
    /// The id.
    pub id: UserId,
    /// The name to sign in with, unique.
    pub name: String,
    /// Hash of the password, in PHC string format; empty until an invited user has set one.
    pub password_hash: String,
    /// When the user was created.
    pub created_at: Timestamp,
    /// Counts what ended all sessions of the user.
    pub session_epoch: i64,
    /// When the user was disabled; `None` for a user who can sign in.
    pub disabled_at: Option<Timestamp>,
    /// When the user last signed in.
    pub last_sign_in_at: Option<Timestamp>,
}

/// A user with what is stored beside the account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedUser {
    /// The account.
    pub user: UserRow,
    /// The role in the organisation.
    pub role: Option<Role>,
    /// Until when a link to set a password is valid.
    pub link_expires_at: Option<Timestamp>,
    /// The issuer of the identity provider that the user signs in with.
    pub issuer: Option<String>,
}

/// Without the hash: it must not appear in a log.
impl fmt::Debug for UserRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserRow").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

table_row! {
    UserRow as user in "user_account" => UserRow;
    Key id = user.id.to_string() => id: parse;
    Fixed name = &user.name => name: text;
    Mutable password_hash = &user.password_hash => password_hash: text;
    Fixed created_at = user.created_at => created_at: timestamp;
    Mutable session_epoch = user.session_epoch => session_epoch: int;
    Mutable disabled_at = user.disabled_at => disabled_at: opt_timestamp;
    Mutable last_sign_in_at = user.last_sign_in_at => last_sign_in_at: opt_timestamp;
}

/// Adds a user. [`Error::AlreadyExists`] if the name is taken.
pub async fn insert(tx: &mut Tx, user: &UserRow) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(user))?.execute(tx).await.map(drop)
}

/// The user with this name.
pub async fn get_by_name(tx: &mut Tx, name: &str) -> Result<Option<UserRow>, Error> {
    let row = table::select_from::<UserRow>().push(" WHERE name = $1");
    decode_row(row.bind_text(name).fetch_optional(tx).await?, "user_account", read_row)
}

/// The user with this id.
pub async fn get_by_id(tx: &mut Tx, id: UserId) -> Result<Option<UserRow>, Error> {
    let row = table::select_from::<UserRow>().push(" WHERE id = $1");
    decode_row(row.bind_text(id).fetch_optional(tx).await?, "user_account", read_row)
}

/// Number of users.
pub async fn count(tx: &mut Tx) -> Result<u32, Error> {
    let n = sql("SELECT COUNT(*) FROM user_account").fetch_number(tx).await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}

/// The user with this id, locked until the transaction ends.
pub async fn lock(tx: &mut Tx, id: UserId) -> Result<Option<UserRow>, Error> {
    let row = table::select_from::<UserRow>().push(" WHERE id = $1").push_locking_clause(tx);
    decode_row(row.bind_text(id).fetch_optional(tx).await?, "user_account", read_row)
}

/// Stores what can change of a user.
pub async fn update(tx: &mut Tx, user: &UserRow) -> Result<(), Error> {
    table::update(tx, user)?.push(" WHERE id = ").push_bind(user.id.to_string()).execute(tx).await.map(drop)
}

/// Records a sign-in.
pub async fn record_sign_in(tx: &mut Tx, id: UserId, at: Timestamp) -> Result<(), Error> {
    sql("UPDATE user_account SET last_sign_in_at = $1 WHERE id = $2")
        .bind(at.millis())
        .bind_text(id)
        .execute(tx)
        .await
        .map(drop)
}

/// At most `limit` users by name, with role, link and issuer.
pub async fn list(tx: &mut Tx, limit: u32) -> Result<Vec<ListedUser>, Error> {
    let rows = table::select::<UserRow>("u")
        .push(", b.role AS role, l.expires_at AS link_expires_at, i.issuer AS issuer FROM user_account u LEFT JOIN role_binding b ON b.subject = u.id AND b.scope_kind = ")
        .push_bind(ScopeKind::Organization.as_str().to_owned())
        .push(" AND b.scope_id = ")
        .push_bind(ORGANIZATION.to_owned())
        .push(" LEFT JOIN password_link l ON l.user_id = u.id LEFT JOIN user_identity i ON i.user_id = u.id ORDER BY u.name LIMIT ")
        .push_bind(i64::from(limit))
        .fetch_all(tx)
        .await?;
    Ok(decode_readable_rows(&rows, "user_account", |row| {
        Ok(ListedUser {
            user: read_row(row)?,
            role: row.opt_parse("role")?,
            link_expires_at: row.opt_timestamp("link_expires_at")?,
            issuer: row.opt_text("issuer")?,
        })
    }))
}
