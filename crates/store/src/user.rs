//! Users who can sign in.

use std::fmt;

use domain::{Timestamp, UserId};

use crate::decode::decode_row;
use crate::sql::sql;
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// A user who can sign in.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// The id.
    pub id: UserId,
    /// The name to sign in with, unique.
    pub name: String,
    /// Hash of the password, in PHC string format.
    pub password_hash: String,
    /// When the user was created.
    pub created_at: Timestamp,
}

/// Without the hash: it must not appear in a log.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

table_row! {
    User as user in "user_account" => User;
    Key id = user.id.to_string() => id: parse;
    Fixed name = &user.name => name: text;
    Fixed password_hash = &user.password_hash => password_hash: text;
    Fixed created_at = user.created_at => created_at: timestamp;
}

/// Adds a user. [`Error::AlreadyExists`] if the name is taken.
pub async fn insert(tx: &mut Tx, user: &User) -> Result<(), Error> {
    table::insert(std::slice::from_ref(user))?.execute(tx).await.map(drop)
}

/// The user with this name.
pub async fn get_by_name(tx: &mut Tx, name: &str) -> Result<Option<User>, Error> {
    let row = table::select_from::<User>().push(" WHERE name = $1");
    decode_row(row.bind_text(name).fetch_optional(tx).await?, "user_account", read_row)
}

/// The user with this id.
pub async fn get_by_id(tx: &mut Tx, id: UserId) -> Result<Option<User>, Error> {
    let row = table::select_from::<User>().push(" WHERE id = $1");
    decode_row(row.bind_text(id).fetch_optional(tx).await?, "user_account", read_row)
}

/// Number of users.
pub async fn count(tx: &mut Tx) -> Result<u32, Error> {
    let n = sql("SELECT COUNT(*) FROM user_account").fetch_number(tx).await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}
