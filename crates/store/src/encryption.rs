//! Encryption of a database as a whole: its keys, how far it is, and the re-encryption of existing values.

use std::path::{Path, PathBuf};

use domain::Timestamp;
use sqlx::{AssertSqlSafe, Executor as _, Row as _};

use crate::sealed::columns::ContentKind;
use crate::sealed::data_key::{self, ACTIVATION_DELAY_MILLIS, Activation, DataKeyRow, StoredKeys};
use crate::sealed::{BatchOutcome, DataKeySummary, EncryptionMode, EncryptionProgress, SealedColumn, pass};
use crate::sql::sql;
use crate::{Error, Store};

/// Application name of the connections of servers that read encrypted values; those of earlier releases have none.
pub(crate) const APPLICATION_NAME: &str = "flotilla-server-1";
/// How long a server may not have read the keys and the mode, in milliseconds; it reads them every 10 s.
const READ_DELAY_MILLIS: i64 = 60_000;
/// Clients of this user and database without that name: servers of an earlier release, or other programs.
const COUNT_EARLIER: &str = "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = current_user \
     AND backend_type = 'client backend' AND application_name NOT LIKE 'flotilla-server-%'";

/// A file beside the database, in the place of a column.
const FILE_CONTENT: SealedColumn =
    SealedColumn { table: "file", column: "content", key: &["name"], content: ContentKind::Bytes };

/// How far the encryption of a database is, and with which keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncryptionStatus {
    /// How far it is.
    pub mode: EncryptionMode,
    /// The data keys, oldest first.
    pub keys: Vec<DataKeySummary>,
    /// The current or last round of re-encryption, by column; empty if there was none.
    pub progress: Vec<EncryptionProgress>,
}

impl EncryptionStatus {
    /// Whether existing values are still being encrypted.
    pub fn is_in_progress(&self) -> bool {
        self.mode == EncryptionMode::Running || self.progress.iter().any(|one| !one.is_done)
    }
}

impl Store {
    /// Reads the data keys at the start; creates the first one. On SQLite, which serves one server, encryption is switched on.
    pub(crate) async fn prepare_keys(&self, now: Timestamp) -> Result<(), Error> {
        let mut keys = self.read_stored_keys().await?;
        if keys.wrapping_key().is_none() {
            let first = DataKeyRow::create(&self.key_source().read(None)?, now, Activation::Now).await?;
            let mut tx = self.write().await?;
            data_key::insert_first(&mut tx, &first).await?;
            tx.commit().await?;
            keys = self.read_stored_keys().await?;
        }
        keys.load_into(self.keyring(), self.key_source(), now).await?;
        if !self.is_postgres() && keys.mode() == EncryptionMode::Waiting {
            self.switch_encryption_on(now).await?;
        }
        Ok(())
    }

    async fn read_stored_keys(&self) -> Result<StoredKeys, Error> {
        StoredKeys::read(&mut self.read().await?).await
    }

    /// Reads the data keys again: others may have been added.
    pub async fn reload_keys(&self, now: Timestamp) -> Result<(), Error> {
        self.read_stored_keys().await?.load_into(self.keyring(), self.key_source(), now).await
    }

    /// Waits until a value refers to a data key that this server does not have.
    pub async fn wait_for_missing_key(&self) {
        self.keyring().wait_for_missing_key().await;
    }

    /// How far encryption is, as this server last read it.
    pub fn encryption_mode(&self) -> EncryptionMode {
        self.keyring().mode()
    }

    /// How far encryption is, and with which keys.
    pub async fn encryption_status(&self, now: Timestamp) -> Result<EncryptionStatus, Error> {
        let mut tx = self.read().await?;
        Ok(EncryptionStatus {
            mode: data_key::get_mode(&mut tx).await?,
            keys: data_key::list(&mut tx, now).await?,
            progress: pass::list_progress(&mut tx).await?,
        })
    }

    /// Switches encryption on: from now on values are encrypted, and existing ones are by [`Store::reencrypt_batch`]. The caller
    /// knows that no server of an earlier release runs.
    pub async fn switch_encryption_on(&self, now: Timestamp) -> Result<(), Error> {
        let mut tx = self.write().await?;
        if data_key::get_mode(&mut tx).await? == EncryptionMode::Waiting {
            data_key::set_mode(&mut tx, EncryptionMode::Running).await?;
            // Other servers write in clear text until they have read the mode.
            let delay = if self.is_postgres() { READ_DELAY_MILLIS } else { 0 };
            pass::request(&mut tx, now.plus_millis(delay)).await?;
            tx.commit().await?;
        } else {
            tx.rollback().await?;
        }
        self.reload_keys(now).await
    }

    /// The number of connections that may be of servers of an earlier release; 0 on SQLite.
    pub async fn count_earlier_clients(&self) -> Result<u64, Error> {
        if !self.is_postgres() {
            return Ok(0);
        }
        let mut tx = self.read().await?;
        Ok(sql(COUNT_EARLIER).fetch_number(&mut tx).await?.unsigned_abs())
    }

    /// Adds a data key and requests the re-encryption of all values; returns its id. Servers encrypt with it when all have read it.
    pub async fn rotate_keys(&self, now: Timestamp) -> Result<String, Error> {
        let existing = self.read_stored_keys().await?;
        let wrapping = self.key_source().read(existing.wrapping_key())?;
        let row = DataKeyRow::create(&wrapping, now, Activation::WhenRead).await?;
        let mut tx = self.write().await?;
        data_key::insert(&mut tx, &row).await?;
        // Other servers encrypt with the previous key until they have read that the new one is active.
        pass::request(&mut tx, now.plus_millis(ACTIVATION_DELAY_MILLIS + READ_DELAY_MILLIS)).await?;
        tx.commit().await?;
        Ok(row.id().to_owned())
    }

    /// Wraps every data key with the first key of the key source; returns how many were wrapped by another one.
    pub async fn rewrap_keys(&self) -> Result<usize, Error> {
        let existing = self.read_stored_keys().await?;
        let wrapping = self.key_source().read(existing.wrapping_key())?;
        let rewrapped = data_key::rewrap(existing, &wrapping).await?;
        let mut tx = self.write().await?;
        for row in &rewrapped {
            data_key::set_wrapping(&mut tx, row).await?;
        }
        tx.commit().await?;
        Ok(rewrapped.len())
    }

    /// The id of the key that wraps new data keys.
    pub async fn current_wrapping_key(&self) -> Result<String, Error> {
        let existing = self.read_stored_keys().await?;
        Ok(self.key_source().read(existing.wrapping_key())?.current())
    }

    /// Re-encrypts the next existing values, if there are any and the newest key is active: a round with an older one would be in vain.
    pub async fn reencrypt_batch(&self, now: Timestamp) -> Result<BatchOutcome, Error> {
        let mut tx = self.read().await?;
        let is_requested = pass::is_requested(&mut tx, now).await?;
        let newest = data_key::list(&mut tx, now).await?.pop();
        drop(tx);
        let is_ready = newest.is_some_and(|key| key.is_active && key.id == self.keyring().active());
        if !is_requested || !is_ready {
            return Ok(BatchOutcome::Idle);
        }
        let mut tx = self.write().await?;
        let outcome = pass::run_batch(&mut tx).await?;
        tx.commit().await?;
        Ok(outcome)
    }

    /// The content of a file beside the database, encrypted like a column; `name` is authenticated with it.
    pub fn seal_file(&self, name: &str, content: &[u8]) -> Vec<u8> {
        self.keyring().seal_bytes(&FILE_CONTENT, &[name.to_owned()], content)
    }

    /// What [`Store::seal_file`] has encrypted; content in clear text is returned as it is. The error says why it can't be decrypted.
    pub fn open_file(&self, name: &str, content: Vec<u8>) -> Result<Vec<u8>, String> {
        self.keyring().open_bytes(&FILE_CONTENT, &[name.to_owned()], content)
    }

    /// Removes what was deleted in clear text from the files of SQLite, then records that all values are encrypted. On PostgreSQL its
    /// own VACUUM reuses such space.
    pub async fn complete_encryption(&self, now: Timestamp) -> Result<(), Error> {
        if let Some(path) = self.sqlite_path() {
            self.rewrite_sqlite_file().await?;
            delete_copies(&path);
        }
        let mut tx = self.write().await?;
        data_key::set_mode(&mut tx, EncryptionMode::Complete).await?;
        tx.commit().await?;
        self.reload_keys(now).await
    }

    /// Writes the file of SQLite again without free pages, and empties the write-ahead log.
    async fn rewrite_sqlite_file(&self) -> Result<(), Error> {
        let mut connection = self.writer_connection().await?;
        // The copy that VACUUM makes would be in memory.
        let result = connection.execute("PRAGMA temp_store = FILE; VACUUM;").await;
        connection.execute("PRAGMA temp_store = MEMORY;").await?;
        result?;
        let checkpoint = sqlx::raw_sql(AssertSqlSafe("PRAGMA wal_checkpoint(TRUNCATE)"));
        let row = connection.fetch_one(checkpoint).await?;
        // Readers keep the log in use: the caller tries again.
        if row.try_get::<i64, _>(0)? == 0 { Ok(()) } else { Err(Error::CheckpointBlocked) }
    }
}

/// Deletes the copies of the database that were made before upgrades: they are in clear text.
fn delete_copies(path: &Path) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let prefix = format!("{name}.before-");
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let copies =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.starts_with(&prefix)));
    for copy in copies.map(|entry| entry.path()) {
        match std::fs::remove_file(&copy) {
            Ok(()) => tracing::info!(copy = %copy.display(), "deleted a copy of the database in clear text"),
            Err(error) => {
                tracing::error!(copy = %copy.display(), %error, "a copy of the database in clear text can't be deleted");
            }
        }
    }
}

/// The key file of a database that no other key source was given for: in the folder `keys` beside its file.
pub fn default_key_file(url: &str) -> Option<PathBuf> {
    let path = url.strip_prefix("sqlite://").filter(|path| !path.is_empty())?;
    Some(Path::new(path).parent()?.join("keys").join("flotilla.key"))
}
