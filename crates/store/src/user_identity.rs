//! Who users are at their providers.

use domain::identity_provider::IdentityReading;
use domain::{Timestamp, UserId};

use crate::decode::decode_row;
use crate::sql::to_json;
use crate::table::{self, table_row};
use crate::{Error, Tx};

const TABLE: &str = "user_identity";

/// The identity of a user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserIdentityRow {
    /// The user.
    pub user: UserId,
    /// The issuer of the provider.
    pub issuer: String,
    /// The subject there.
    pub subject: String,
    /// What the provider said last.
    pub reading: IdentityReading,
    /// When that was.
    pub checked_at: Timestamp,
}

table_row! {
    UserIdentityRow as row in "user_identity" => UserIdentityRow;
    Key user_id = row.user.to_string() => user: parse;
    Fixed issuer = &row.issuer => issuer: text;
    Fixed subject = &row.subject => subject: text;
    Mutable reading = to_json(&row.reading)? => reading: json;
    Mutable checked_at = row.checked_at => checked_at: timestamp;
}

/// Stores the identity of a user. [`Error::AlreadyExists`] if another user has it.
pub async fn put(tx: &mut Tx, row: &UserIdentityRow) -> Result<(), Error> {
    table::insert_or_update(tx, std::slice::from_ref(row))?.execute(tx).await.map(drop)
}

/// The identity of a user, if the user has one.
pub async fn get(tx: &mut Tx, user: UserId) -> Result<Option<UserIdentityRow>, Error> {
    let row = table::select_from::<UserIdentityRow>().push(" WHERE user_id = $1");
    decode_row(row.bind_text(user).fetch_optional(tx).await?, TABLE, read_row)
}

/// The identity with this subject.
pub async fn find(tx: &mut Tx, issuer: &str, subject: &str) -> Result<Option<UserIdentityRow>, Error> {
    let row = table::select_from::<UserIdentityRow>().push(" WHERE issuer = $1 AND subject = $2");
    decode_row(row.bind_text(issuer).bind_text(subject).fetch_optional(tx).await?, TABLE, read_row)
}
