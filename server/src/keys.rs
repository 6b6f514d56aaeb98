//! `flotilla-server keys`: the keys of the database's encrypted columns. A server may use the database at the same time.

use anyhow::anyhow;
use hub::{Clock, EncryptionMode, EncryptionStatus, KeyAdministration};

use crate::args::{DatabaseArgs, KeysCommand, print_line};
use crate::lifecycle::describe_cause;

/// Runs a command.
///
/// # Errors
/// The database or the keys can't be used.
pub async fn run(command: &KeysCommand) -> anyhow::Result<()> {
    let (database, run) = match command {
        KeysCommand::Generate => {
            print_line(&hub::generate_wrapping_key());
            return Ok(());
        }
        KeysCommand::Status(database) => (database, KeyAction::Show),
        KeysCommand::Rotate(database) => (database, KeyAction::Rotate),
        KeysCommand::Rewrap(database) => (database, KeyAction::Rewrap),
        KeysCommand::Encrypt(database) => (database, KeyAction::Encrypt),
    };
    let keys = open(database).await?;
    let done = run.execute(&keys).await.map_err(|error| anyhow!(describe_cause(&error)));
    keys.close().await;
    for line in done? {
        print_line(&line);
    }
    Ok(())
}

async fn open(database: &DatabaseArgs) -> anyhow::Result<KeyAdministration> {
    let opened = KeyAdministration::open(&database.url()?, database.keys.source(), Clock::system()).await;
    opened.map_err(|error| anyhow!("can't open the database: {}", describe_cause(&error)))
}

/// What is done with the keys of an open database.
#[derive(Debug, Clone, Copy)]
enum KeyAction {
    Show,
    Rotate,
    Rewrap,
    Encrypt,
}

impl KeyAction {
    /// Returns the lines to print.
    async fn execute(self, keys: &KeyAdministration) -> Result<Vec<String>, hub::Error> {
        Ok(match self {
            Self::Show => {
                keys.verify().await?;
                describe_status(&keys.status().await?, &keys.current_wrapping_key().await?)
            }
            Self::Rotate => {
                let id = keys.rotate().await?;
                vec![
                    format!("Added data key {id}."),
                    "Servers encrypt with it in a minute, then encrypt all existing values again; `flotilla-server keys status` shows how far \
                     they are."
                        .to_owned(),
                ]
            }
            Self::Rewrap => {
                let count = keys.rewrap().await?;
                let current = keys.current_wrapping_key().await?;
                vec![format!(
                    "Wrapped {count} data keys with the key {current}; no other wrapping key is needed."
                )]
            }
            Self::Encrypt => {
                keys.switch_on().await?;
                vec![
                    "Values are encrypted from now on; the running servers encrypt the existing ones."
                        .to_owned(),
                ]
            }
        })
    }
}

/// The status as lines.
fn describe_status(status: &EncryptionStatus, wrapping_key: &str) -> Vec<String> {
    let mode = match status.mode {
        EncryptionMode::Waiting => {
            "waiting: values are in clear text until no server of an earlier release is connected (`keys encrypt` does not wait)"
        }
        EncryptionMode::Running => "running: new values are encrypted, existing ones are being encrypted",
        EncryptionMode::Complete => "complete: all values are encrypted",
    };
    let mut lines = vec![format!("Encryption is {mode}."), format!("Wrapping key: {wrapping_key}")];
    for key in &status.keys {
        let state = if key.is_active { "active" } else { "for reading" };
        lines.push(format!("Data key {}: {state}, wrapped by {}", key.id, key.wrapping_key));
    }
    for one in &status.progress {
        let state = if one.is_done { "done" } else { "in progress" };
        let (table, column) = (&one.table, &one.column);
        lines
            .push(format!("{table}.{column}: {state}, {} rows read, {} written", one.checked, one.rewritten));
    }
    lines
}
