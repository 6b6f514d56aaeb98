//! `flotilla-server migrate`: migrates the database's schema without serving.

use anyhow::Context as _;
use hub::{Clock, Hub, HubConfig};

use crate::args::{DatabaseArgs, print_line};

/// Migrates the schema.
///
/// # Errors
/// The database can't be opened or migrated.
pub async fn run(database: &DatabaseArgs) -> anyhow::Result<()> {
    let address = database.url()?;
    let keys = database.keys.source();
    Hub::open(HubConfig { keys, ..HubConfig::new(address, Clock::system()) })
        .await
        .context("can't migrate the database")?;
    print_line("The database is up to date.");
    Ok(())
}
