//! Encryption of the database: what a server knows of it, and what an administrator does to its keys (docs/encryption.md).

use store::{EncryptionMode, EncryptionStatus, KeySource, Store};

use crate::{Clock, Error, Hub};

impl Hub {
    /// How far the encryption of the database is, and with which keys.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn encryption_status(&self) -> Result<EncryptionStatus, Error> {
        Ok(self.store().encryption_status(self.clock().now()).await?)
    }

    /// The content of a file beside the database in encrypted form; `name` is authenticated with it.
    pub fn seal_file(&self, name: &str, content: &[u8]) -> Vec<u8> {
        self.store().seal_file(name, content)
    }

    /// What [`Hub::seal_file`] has encrypted; content in clear text is returned as it is.
    ///
    /// # Errors
    /// Why it can't be decrypted.
    pub fn open_file(&self, name: &str, content: Vec<u8>) -> Result<Vec<u8>, String> {
        self.store().open_file(name, content)
    }

    /// How far encryption is, as this server last read it.
    pub fn encryption_mode(&self) -> EncryptionMode {
        self.store().encryption_mode()
    }
}

/// The keys of a database that a server may use at the same time.
pub struct KeyAdministration {
    store: Store,
    clock: Clock,
}

impl KeyAdministration {
    /// Opens the database, whose schema must be that of this version.
    ///
    /// # Errors
    /// The database can't be opened.
    pub async fn open(database: &str, keys: Option<KeySource>, clock: Clock) -> Result<Self, Error> {
        let store = Store::open_beside_server(database, &resolve_key_source(database, keys)?).await?;
        Ok(Self { store, clock })
    }

    /// How far encryption is, and with which keys.
    ///
    /// # Errors
    /// The database can't be read.
    pub async fn status(&self) -> Result<EncryptionStatus, Error> {
        Ok(self.store.encryption_status(self.clock.now()).await?)
    }

    /// The id of the key that wraps new data keys.
    ///
    /// # Errors
    /// The key source can't be read.
    pub async fn current_wrapping_key(&self) -> Result<String, Error> {
        Ok(self.store.current_wrapping_key().await?)
    }

    /// Checks that every data key can be unwrapped.
    ///
    /// # Errors
    /// One of them can't.
    pub async fn verify(&self) -> Result<(), Error> {
        Ok(self.store.reload_keys(self.clock.now()).await?)
    }

    /// Adds a data key, with which the servers encrypt all values; returns its id.
    ///
    /// # Errors
    /// The key source or the database can't be used.
    pub async fn rotate(&self) -> Result<String, Error> {
        Ok(self.store.rotate_keys(self.clock.now()).await?)
    }

    /// Wraps every data key with the first key of the key source; returns how many were wrapped by another one.
    ///
    /// # Errors
    /// The key source or the database can't be used.
    pub async fn rewrap(&self) -> Result<usize, Error> {
        Ok(self.store.rewrap_keys().await?)
    }

    /// Switches encryption on without waiting for clients that may be servers of an earlier release.
    ///
    /// # Errors
    /// The database can't be written.
    pub async fn switch_on(&self) -> Result<(), Error> {
        Ok(self.store.switch_encryption_on(self.clock.now()).await?)
    }

    /// Closes the database.
    pub async fn close(self) {
        self.store.close().await;
    }
}

/// What to do without a key source.
const NO_KEY_SOURCE: &str = "a PostgreSQL database needs a key for its encrypted columns, the same for all servers: --key-file FILE, \
     FLOTILLA_KEY or --key-command FILE; `flotilla-server keys generate` prints a new key";

/// The given key source, or the file beside an SQLite database.
///
/// # Errors
/// There is no default: the database is not a file of this server.
pub(crate) fn resolve_key_source(database: &str, keys: Option<KeySource>) -> Result<KeySource, Error> {
    let beside = || store::default_key_file(database).map(KeySource::File);
    keys.or_else(beside).ok_or_else(|| Error::Internal(NO_KEY_SOURCE.into()))
}
