//! The data keys in memory.

use std::collections::BTreeMap;
use std::fmt;

use parking_lot::RwLock;
use sealing::Cipher;
use tokio::sync::Notify;

use super::data_key::EncryptionMode;

/// The data keys of a database, unwrapped.
#[derive(Default)]
pub(crate) struct Keyring {
    keys: RwLock<DataKeys>,
    missing_key: Notify,
}

/// The unwrapped data keys, and which of them encrypts.
#[derive(Default)]
pub(crate) struct DataKeys {
    pub(crate) ciphers: BTreeMap<String, Cipher>,
    /// The id of the key that encrypts.
    pub(crate) active: String,
    pub(crate) mode: EncryptionMode,
}

impl fmt::Debug for Keyring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keyring").field("active", &self.keys.read().active).finish_non_exhaustive()
    }
}

impl Keyring {
    /// Replaces the keys.
    pub(crate) fn set(&self, keys: DataKeys) {
        *self.keys.write() = keys;
    }

    /// Waits until a value refers to a key that is not here; another server may have created it.
    pub(crate) async fn wait_for_missing_key(&self) {
        self.missing_key.notified().await;
    }

    /// The id of the key that encrypts.
    pub(crate) fn active(&self) -> String {
        self.keys.read().active.clone()
    }

    /// Whether values are encrypted.
    pub(crate) fn mode(&self) -> EncryptionMode {
        self.keys.read().mode
    }

    /// The unwrapped key with this id.
    pub(crate) fn get(&self, id: &str) -> Option<Cipher> {
        self.keys.read().ciphers.get(id).cloned()
    }

    /// Id of the key and ciphertext; `None` while values are written in clear text.
    pub(super) fn seal(&self, place: &[u8], content: &[u8]) -> Option<(String, Vec<u8>)> {
        let keys = self.keys.read();
        if keys.mode == EncryptionMode::Waiting {
            return None;
        }
        // The mode is another one only once there is a key, see `data_key::load`.
        let cipher = keys.ciphers.get(&keys.active).expect("a data key is active");
        Some((keys.active.clone(), cipher.encrypt(place, content)))
    }

    pub(super) fn decrypt(&self, id: &str, place: &[u8], sealed: &[u8]) -> Result<Vec<u8>, String> {
        let Some(cipher) = self.get(id) else {
            self.missing_key.notify_one();
            return Err(format!("it is encrypted with data key {id}, which this server does not have"));
        };
        cipher.decrypt(place, sealed).ok_or_else(|| {
            format!("it can't be decrypted with data key {id}: it is damaged, or belongs to another row")
        })
    }
}
