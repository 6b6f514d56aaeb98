//! Sign-ins with providers, which sessions of the console refer to, and what works once.

use std::fmt;

use domain::{Timestamp, UserId};

use crate::decode::decode_row;
use crate::sql::sql;
use crate::table::{self, table_row};
use crate::{Error, Tx};

/// A sign-in with a provider.
#[derive(Clone, PartialEq, Eq)]
pub struct IdentitySessionRow {
    /// Its id.
    pub id: String,
    /// The user.
    pub user: UserId,
    /// The name of the provider.
    pub provider: String,
    /// The subject at the provider.
    pub subject: String,
    /// The session at the provider; may be empty.
    pub sid: String,
    /// The token with which the provider is asked again.
    pub refresh_token: String,
    /// When the provider confirmed it last.
    pub checked_at: Timestamp,
    /// When the provider is asked again.
    pub retry_at: Timestamp,
    /// Until when one server asks.
    pub claimed_until: Timestamp,
    /// When it ends, whatever the provider says.
    pub expires_at: Timestamp,
}

/// Without the token: it must not appear in a log.
impl fmt::Debug for IdentitySessionRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = (&self.user, &self.provider);
        f.debug_struct("IdentitySessionRow").field("fields", &fields).finish_non_exhaustive()
    }
}

table_row! {
    IdentitySessionRow as row in "identity_session" => IdentitySessionRow;
    Key id = &row.id => id: text;
    Fixed user_id = row.user.to_string() => user: parse;
    Fixed provider = &row.provider => provider: text;
    Fixed subject = &row.subject => subject: text;
    Fixed sid = &row.sid => sid: text;
    Mutable refresh_token = &row.refresh_token => refresh_token: text;
    Mutable checked_at = row.checked_at => checked_at: timestamp;
    Mutable retry_at = row.retry_at => retry_at: timestamp;
    Mutable claimed_until = row.claimed_until => claimed_until: timestamp;
    Fixed expires_at = row.expires_at => expires_at: timestamp;
}

/// Adds a sign-in.
pub async fn insert(tx: &mut Tx, row: &IdentitySessionRow) -> Result<(), Error> {
    table::insert(tx, std::slice::from_ref(row))?.execute(tx).await.map(drop)
}

/// Stores what can change of a sign-in, unless it has ended; returns whether it exists.
pub async fn update(tx: &mut Tx, row: &IdentitySessionRow) -> Result<bool, Error> {
    let update = table::update(tx, row)?.push(" WHERE id = ").push_bind(row.id.clone());
    Ok(update.execute(tx).await? == 1)
}

/// The sign-in with this id.
pub async fn get(tx: &mut Tx, id: &str) -> Result<Option<IdentitySessionRow>, Error> {
    let row = table::select_from::<IdentitySessionRow>().push(" WHERE id = $1");
    decode_row(row.bind_text(id).fetch_optional(tx).await?, "identity_session", read_row)
}

/// Claims the renewal of a sign-in that was read with this time of the next one; returns whether no other server has done that.
pub async fn claim(
    tx: &mut Tx,
    id: &str,
    retry_at: Timestamp,
    now: Timestamp,
    until: Timestamp,
) -> Result<bool, Error> {
    let claimed = sql("UPDATE identity_session SET claimed_until = $1 \
                       WHERE id = $2 AND retry_at = $3 AND claimed_until <= $4")
    .bind(until.millis())
    .bind_text(id)
    .bind(retry_at.millis())
    .bind(now.millis())
    .execute(tx)
    .await?;
    Ok(claimed == 1)
}

/// Ends a sign-in; returns whether it existed.
pub async fn delete(tx: &mut Tx, id: &str) -> Result<bool, Error> {
    Ok(sql("DELETE FROM identity_session WHERE id = $1").bind_text(id).execute(tx).await? == 1)
}

/// Ends the oldest sign-ins of a user, except the one with the id `newest` and as many others as are `retained`; returns how many. The user
/// is locked, so that sign-ins at once leave no more.
pub async fn delete_oldest(tx: &mut Tx, (user, newest): (UserId, &str), retained: i64) -> Result<u64, Error> {
    // Each expires as long after its sign-in.
    let delete = sql("DELETE FROM identity_session WHERE user_id = $1 AND id <> $2 \
                      AND id NOT IN (SELECT id FROM identity_session WHERE user_id = $1 AND id <> $2 \
                      ORDER BY expires_at DESC, id LIMIT $3)");
    delete.bind_text(user).bind_text(newest).bind(retained).execute(tx).await
}

/// Ends the sign-ins with a provider; returns how many.
pub async fn delete_by_provider(tx: &mut Tx, provider: &str) -> Result<u64, Error> {
    sql("DELETE FROM identity_session WHERE provider = $1").bind_text(provider).execute(tx).await
}

/// Ends the sign-ins of a session at the provider, or of a subject if there is none; returns how many. With both, also the sign-ins of the
/// subject whose session at the provider is not known.
pub async fn delete_by_logout(
    tx: &mut Tx,
    provider: &str,
    subject: Option<&str>,
    sid: Option<&str>,
) -> Result<u64, Error> {
    let mut delete = sql("DELETE FROM identity_session WHERE provider = ").push_bind(provider.to_owned());
    if let Some(subject) = subject {
        delete = delete.push(" AND subject = ").push_bind(subject.to_owned());
    }
    if let Some(sid) = sid {
        delete = delete.push(" AND (sid = ").push_bind(sid.to_owned());
        // A sign-in of the subject without one may be that session.
        delete = delete.push(if subject.is_some() { " OR sid = '')" } else { ")" });
    }
    delete.execute(tx).await
}

/// Whether this has not been used yet, which it is from now on. Of two transactions with the same hash one gets `true`.
pub async fn use_once(tx: &mut Tx, hash: &str, expires_at: Timestamp) -> Result<bool, Error> {
    let insert = sql("INSERT INTO identity_replay (used_hash, expires_at) VALUES ($1, $2) \
                      ON CONFLICT (used_hash) DO NOTHING");
    Ok(insert.bind_text(hash).bind(expires_at.millis()).execute(tx).await? == 1)
}

/// Whether this was used.
pub async fn is_used(tx: &mut Tx, hash: &str) -> Result<bool, Error> {
    let count = sql("SELECT COUNT(*) FROM identity_replay WHERE used_hash = $1");
    Ok(count.bind_text(hash).fetch_number(tx).await? > 0)
}
