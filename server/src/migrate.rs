//! `flotilla-server migrate`: the schema is brought up to date, nothing is served.

use anyhow::Context as _;
use hub::{Clock, Config, Hub};

use crate::args::{Database, say};

/// Brings the schema up to date.
///
/// # Errors
/// The database can't be opened or migrated.
pub async fn run(database: &Database) -> anyhow::Result<()> {
    let address = database.address()?;
    Hub::open(Config { database: address, clock: Clock::system() })
        .await
        .context("can't migrate the database")?;
    say("The database is up to date.");
    Ok(())
}
