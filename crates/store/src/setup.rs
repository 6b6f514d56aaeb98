//! The token with which the first person signs in, by its hash, until there is one.

use crate::record::one;
use crate::sql::sql;
use crate::{Error, Tx};

const NAME: &str = "setup-token";

/// Keeps the hash; an earlier one no longer works.
pub async fn put(tx: &mut Tx, hash: &str) -> Result<(), Error> {
    sql("INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value")
        .text(NAME)
        .text(hash)
        .run(tx)
        .await
        .map(drop)
}

/// The hash, if one is waiting.
pub async fn get(tx: &mut Tx) -> Result<Option<String>, Error> {
    let row = sql("SELECT name, value FROM setting WHERE name = $1").text(NAME).row(tx).await?;
    one(row, "setting", |row| row.text("value"))
}

/// Forgets it; true for the one who did, so that of two first sign-ins one succeeds.
pub async fn clear(tx: &mut Tx) -> Result<bool, Error> {
    Ok(sql("DELETE FROM setting WHERE name = $1").text(NAME).run(tx).await? == 1)
}
