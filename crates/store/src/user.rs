//! People who can sign in.

use std::fmt;

use domain::{Timestamp, UserId};

use crate::record::{Record, Why, one};
use crate::sql::sql;
use crate::{Error, Tx};

/// A person who can sign in.
#[derive(Clone, PartialEq, Eq)]
pub struct User {
    /// The id.
    pub id: UserId,
    /// The name to sign in with, unique.
    pub name: String,
    /// Hash of the password, in PHC string format.
    pub password_hash: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// Without the hash: it must not end up in a log.
impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User").field("id", &self.id).field("name", &self.name).finish_non_exhaustive()
    }
}

/// Adds a person. [`Error::Unique`] if the name is taken.
pub async fn insert(tx: &mut Tx, user: &User) -> Result<(), Error> {
    sql("INSERT INTO user_account (id, name, password_hash, created_at) VALUES ($1, $2, $3, $4)")
        .text(user.id)
        .text(&user.name)
        .text(&user.password_hash)
        .bind(user.created_at.millis())
        .run(tx)
        .await
        .map(drop)
}

/// The person with this name.
pub async fn by_name(tx: &mut Tx, name: &str) -> Result<Option<User>, Error> {
    let row = sql("SELECT id, name, password_hash, created_at FROM user_account WHERE name = $1");
    one(row.text(name).row(tx).await?, "user_account", read)
}

/// The person with this id.
pub async fn by_id(tx: &mut Tx, id: UserId) -> Result<Option<User>, Error> {
    let row = sql("SELECT id, name, password_hash, created_at FROM user_account WHERE id = $1");
    one(row.text(id).row(tx).await?, "user_account", read)
}

/// How many there are.
pub async fn count(tx: &mut Tx) -> Result<u32, Error> {
    let n = sql("SELECT COUNT(*) FROM user_account").number(tx).await?;
    Ok(u32::try_from(n).unwrap_or(u32::MAX))
}

fn read(row: &Record<'_>) -> Result<User, Why> {
    Ok(User {
        id: row.parse("id")?,
        name: row.text("name")?,
        password_hash: row.text("password_hash")?,
        created_at: row.at("created_at")?,
    })
}
