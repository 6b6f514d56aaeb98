//! Encryption of columns: whole values, authenticated together with their place (docs/encryption.md, decision 0021).
//!
//! A column is encrypted by its entry in [`columns`]. Writers pass through [`Tx::seal_text`] or [`Tx::seal_bytes`], which
//! statements of `table_row!` call by themselves; `RowReader` decrypts by table and column. A value that can't be decrypted
//! is an error that names row and key, never an empty one.
//!
//! A value is encrypted with XChaCha20-Poly1305 under a random nonce. Table, column and key of the row are authenticated with
//! it, so a value that is copied to another place can't be read there. A value without the prefix was written before
//! encryption was switched on and is read as it is.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use crate::Tx;
use crate::decode::DecodeError;
use crate::large_value::process_value;

pub(crate) mod columns;
pub(crate) mod data_key;
mod keyring;
pub(crate) mod pass;
mod wrapping;

pub(crate) use columns::SealedColumn;
pub use data_key::{DataKeySummary, EncryptionMode};
pub(crate) use keyring::Keyring;
pub use pass::{BatchOutcome, EncryptionProgress};
pub use wrapping::{KeyError, KeySource, generate_wrapping_key};

/// Prefix of an encrypted text: the format, then the id of the data key, `:`, and nonce and ciphertext in base64.
pub(crate) const TEXT_PREFIX: &str = "sealed:1:";
/// Prefix of encrypted bytes: the format, then the id of the data key, `:`, nonce and ciphertext. No content begins with NUL.
const BYTES_PREFIX: &[u8] = b"\0sealed:1:";

/// The key of a row, as text, in the order of [`SealedColumn::key`].
pub(crate) type RowKey = Vec<String>;

/// What is authenticated with a value: its place. Each part has its length before it, so that no two places are equal.
fn place(column: &SealedColumn, key: &[String]) -> Vec<u8> {
    let parts = [column.table, column.column].into_iter().chain(key.iter().map(String::as_str));
    let mut place = b"flotilla 1".to_vec();
    for part in parts {
        place.extend((part.len() as u64).to_be_bytes());
        place.extend(part.as_bytes());
    }
    place
}

/// Values that contain nothing stay as they are: they are compared in SQL, and most rows have them.
pub(crate) fn is_empty_value(text: &str) -> bool {
    matches!(text, "" | "{}" | "[]" | "null")
}

impl Tx {
    /// The text to store in an encrypted column of the row with this key.
    pub(crate) fn seal_text(&self, column: &SealedColumn, key: &[String], text: String) -> String {
        if is_empty_value(&text) {
            return text;
        }
        process_value(text.len(), || match self.keyring().seal(&place(column, key), text.as_bytes()) {
            Some((id, sealed)) => format!("{TEXT_PREFIX}{id}:{}", STANDARD_NO_PAD.encode(sealed)),
            None => text,
        })
    }

    /// The bytes to store in an encrypted column of the row with this key.
    pub(crate) fn seal_bytes(&self, column: &SealedColumn, key: &[String], bytes: &[u8]) -> Vec<u8> {
        self.keyring().seal_bytes(column, key, bytes)
    }
}

impl Keyring {
    /// Bytes in encrypted form, with the id of their key.
    pub(crate) fn seal_bytes(&self, column: &SealedColumn, key: &[String], bytes: &[u8]) -> Vec<u8> {
        process_value(bytes.len(), || match self.seal(&place(column, key), bytes) {
            Some((id, sealed)) => [BYTES_PREFIX, id.as_bytes(), b":", &sealed].concat(),
            None => bytes.to_vec(),
        })
    }

    /// The content of a text column.
    pub(crate) fn open_text(
        &self,
        column: &SealedColumn,
        key: &[String],
        stored: String,
    ) -> Result<String, DecodeError> {
        let Some((id, sealed)) = stored.strip_prefix(TEXT_PREFIX).and_then(|rest| rest.split_once(':'))
        else {
            return Ok(stored);
        };
        let damaged = || format!("{}: its ciphertext under data key {id} is damaged", column.column);
        let sealed = STANDARD_NO_PAD.decode(sealed).map_err(|_| damaged())?;
        let bytes = self.open(column, key, id, &sealed)?;
        String::from_utf8(bytes).map_err(|_| damaged())
    }

    /// The content of a column of bytes.
    pub(crate) fn open_bytes(
        &self,
        column: &SealedColumn,
        key: &[String],
        stored: Vec<u8>,
    ) -> Result<Vec<u8>, DecodeError> {
        match split_bytes(&stored) {
            Some((id, sealed)) => self.open(column, key, id, sealed),
            None => Ok(stored),
        }
    }

    fn open(
        &self,
        column: &SealedColumn,
        key: &[String],
        id: &str,
        sealed: &[u8],
    ) -> Result<Vec<u8>, DecodeError> {
        let opened = self.decrypt(id, &place(column, key), sealed);
        opened.map_err(|why| format!("{}: {why}", column.column))
    }
}

/// The id of the data key and the ciphertext of encrypted bytes; `None` if they are not encrypted.
fn split_bytes(stored: &[u8]) -> Option<(&str, &[u8])> {
    let rest = stored.strip_prefix(BYTES_PREFIX)?;
    let end = rest.iter().position(|byte| *byte == b':')?;
    Some((std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..]))
}

/// The id of the data key that a text was encrypted with; `None` if it is not encrypted.
pub(crate) fn key_of_text(stored: &str) -> Option<&str> {
    stored.strip_prefix(TEXT_PREFIX)?.split_once(':').map(|(id, _)| id)
}

/// The id of the data key that bytes were encrypted with; `None` if they are not encrypted.
pub(crate) fn key_of_bytes(stored: &[u8]) -> Option<&str> {
    split_bytes(stored).map(|(id, _)| id)
}
