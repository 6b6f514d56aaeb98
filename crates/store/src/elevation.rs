//! Higher roles of users until a time.

use domain::role::Role;
use domain::{Timestamp, UserId};

use crate::decode::{decode_row, decode_rows};
use crate::sql::sql;
use crate::table::{self, table_row};
use crate::{Error, Tx};

const TABLE: &str = "elevation";

/// A higher role of a user until a time. It is there until it is ended or replaced, also after it has expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElevationRow {
    /// The user.
    pub user: UserId,
    /// The role.
    pub role: Role,
    /// Why.
    pub reason: String,
    /// Who granted it.
    pub created_by: String,
    /// When it was granted.
    pub created_at: Timestamp,
    /// Until when it counts.
    pub expires_at: Timestamp,
}

table_row! {
    ElevationRow as row in "elevation" => ElevationRow;
    Key user_id = row.user.to_string() => user: parse;
    Mutable role = row.role.as_str() => role: parse;
    Mutable reason = &row.reason => reason: text;
    Mutable created_by = &row.created_by => created_by: text;
    Mutable created_at = row.created_at => created_at: timestamp;
    Mutable expires_at = row.expires_at => expires_at: timestamp;
}

/// Stores the elevation of a user, in place of the one before it.
pub async fn put(tx: &mut Tx, row: &ElevationRow) -> Result<(), Error> {
    table::insert_or_update(tx, std::slice::from_ref(row))?.execute(tx).await.map(drop)
}

/// The elevation of a user, which may have expired.
pub async fn get(tx: &mut Tx, user: UserId) -> Result<Option<ElevationRow>, Error> {
    let row = table::select_from::<ElevationRow>().push(" WHERE user_id = $1");
    decode_row(row.bind_text(user).fetch_optional(tx).await?, TABLE, read_row)
}

/// The elevations that count at this time.
pub async fn list(tx: &mut Tx, now: Timestamp) -> Result<Vec<ElevationRow>, Error> {
    let rows = table::select_from::<ElevationRow>().push(" WHERE expires_at > $1 ORDER BY user_id");
    decode_rows(&rows.bind(now.millis()).fetch_all(tx).await?, TABLE, read_row)
}

/// Deletes the elevation of a user; returns whether there was one.
pub async fn delete(tx: &mut Tx, user: UserId) -> Result<bool, Error> {
    Ok(sql("DELETE FROM elevation WHERE user_id = $1").bind_text(user).execute(tx).await? > 0)
}
