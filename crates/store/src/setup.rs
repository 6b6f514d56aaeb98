//! The setup token for the first sign-in; only its hash is stored, until it is used.

use crate::decode::decode_row;
use crate::sql::sql;
use crate::{Error, Tx};

const SETTING_NAME: &str = "setup-token";

/// Stores the hash, replacing an earlier one.
pub async fn put(tx: &mut Tx, hash: &str) -> Result<(), Error> {
    sql("INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
        .bind_text(SETTING_NAME)
        .bind_text(hash)
        .execute(tx)
        .await
        .map(drop)
}

/// The stored hash, if any.
pub async fn get(tx: &mut Tx) -> Result<Option<String>, Error> {
    let row = sql("SELECT name, value FROM setting WHERE name = $1")
        .bind_text(SETTING_NAME)
        .fetch_optional(tx)
        .await?;
    decode_row(row, "setting", |row| row.text("value"))
}

/// Deletes this hash; returns whether it was the stored one. The row stays locked until the transaction ends, so of two
/// transactions with the same token one finds it.
pub async fn consume(tx: &mut Tx, hash: &str) -> Result<bool, Error> {
    let delete = sql("DELETE FROM setting WHERE name = $1 AND value = $2");
    Ok(delete.bind_text(SETTING_NAME).bind_text(hash).execute(tx).await? == 1)
}
