//! Data keys: rows of `data_key`, wrapped by a key that is not in the database.

use std::collections::BTreeMap;

use domain::Timestamp;
use rand::Rng as _;
use sealing::{Cipher, generate_key};

use super::keyring::{DataKeys, Keyring};
use super::wrapping::{KeySource, WrappingKeys};
use crate::decode::{DecodeError, RowReader, decode_row, decode_rows};
use crate::sql::sql;
use crate::{Error, Tx};

/// How long after its creation a data key is used to encrypt, in milliseconds: every server reads the keys more often.
pub(crate) const ACTIVATION_DELAY_MILLIS: i64 = 60_000;

/// The setting with the mode.
const SETTING: &str = "encryption";

/// How far the encryption of a database is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EncryptionMode {
    /// Values are written in clear text: servers of the previous release may still run.
    #[default]
    Waiting,
    /// New values are encrypted, existing ones are being encrypted.
    Running,
    /// All values are encrypted.
    Complete,
}

impl EncryptionMode {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Waiting, Self::Running, Self::Complete];

    /// Its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Complete => "complete",
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text)
    }
}

/// A data key, without the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataKeySummary {
    /// Its id, which is part of every value that was encrypted with it.
    pub id: String,
    /// The id of the key that wraps it.
    pub wrapping_key: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// From when on it encrypts, unless a newer one does.
    pub active_from: Timestamp,
    /// Whether it encrypts now.
    pub is_active: bool,
}

/// A row of `data_key`.
pub(crate) struct DataKeyRow {
    id: String,
    wrapping_key: String,
    wrapped: String,
    created_at: Timestamp,
    active_from: Timestamp,
}

fn read_key(row: &RowReader<'_>) -> Result<DataKeyRow, DecodeError> {
    Ok(DataKeyRow {
        id: row.text("id")?,
        wrapping_key: row.text("wrapping_key")?,
        wrapped: row.text("wrapped")?,
        created_at: row.timestamp("created_at")?,
        active_from: row.timestamp("active_from")?,
    })
}

async fn list_rows(tx: &mut Tx) -> Result<Vec<DataKeyRow>, Error> {
    let rows = sql(
        "SELECT id, wrapping_key, wrapped, created_at, active_from FROM data_key ORDER BY created_at, id",
    )
    .fetch_all(tx)
    .await?;
    decode_rows(&rows, "data_key", read_key)
}

/// The key that encrypts at this time: the newest of those that are active, before the first one is, the first one.
fn find_active(rows: &[DataKeyRow], now: Timestamp) -> Option<&DataKeyRow> {
    rows.iter().rev().find(|row| row.active_from <= now).or_else(|| rows.first())
}

/// The data keys, oldest first.
pub(crate) async fn list(tx: &mut Tx, now: Timestamp) -> Result<Vec<DataKeySummary>, Error> {
    let rows = list_rows(tx).await?;
    let active = find_active(&rows, now).map(|row| row.id.clone()).unwrap_or_default();
    let summarize = |row: DataKeyRow| DataKeySummary {
        is_active: row.id == active,
        id: row.id,
        wrapping_key: row.wrapping_key,
        created_at: row.created_at,
        active_from: row.active_from,
    };
    Ok(rows.into_iter().map(summarize).collect())
}

/// The mode. An unknown one is an error: values must not be written in clear text by mistake.
pub(crate) async fn get_mode(tx: &mut Tx) -> Result<EncryptionMode, Error> {
    let row =
        sql("SELECT name, value FROM setting WHERE name = $1").bind_text(SETTING).fetch_optional(tx).await?;
    let mode = decode_row(row, "setting", |row| {
        EncryptionMode::parse(&row.text("value")?)
            .ok_or_else(|| "value: unknown mode of encryption".to_owned())
    })?;
    mode.ok_or_else(|| Error::MissingRow { table: "setting", id: SETTING.to_owned() })
}

/// Stores the mode.
pub(crate) async fn set_mode(tx: &mut Tx, mode: EncryptionMode) -> Result<(), Error> {
    sql("UPDATE setting SET value = $1 WHERE name = $2")
        .bind_text(mode.as_str())
        .bind_text(SETTING)
        .execute(tx)
        .await
        .map(drop)
}

/// The stored data keys and the mode.
pub(crate) struct StoredKeys {
    rows: Vec<DataKeyRow>,
    mode: EncryptionMode,
}

impl StoredKeys {
    /// Reads them.
    pub(crate) async fn read(tx: &mut Tx) -> Result<Self, Error> {
        Ok(Self { rows: list_rows(tx).await?, mode: get_mode(tx).await? })
    }

    /// The id of the key that wraps the newest data key; `None` if there is no data key yet.
    pub(crate) fn wrapping_key(&self) -> Option<&str> {
        self.rows.last().map(|row| row.wrapping_key.as_str())
    }

    /// The mode.
    pub(crate) const fn mode(&self) -> EncryptionMode {
        self.mode
    }

    /// Puts the keys into the keyring; those that it does not have are unwrapped.
    pub(crate) async fn load_into(
        &self,
        keyring: &Keyring,
        source: &KeySource,
        now: Timestamp,
    ) -> Result<(), Error> {
        let mut ciphers = BTreeMap::new();
        let mut wrapping: Option<WrappingKeys> = None;
        for row in &self.rows {
            let cipher = match (keyring.get(&row.id), &wrapping) {
                (Some(cipher), _) => cipher,
                (None, Some(wrapping)) => row.unwrap(wrapping).await?,
                (None, None) => row.unwrap(wrapping.insert(source.read(Some(&row.wrapping_key))?)).await?,
            };
            ciphers.insert(row.id.clone(), cipher);
        }
        let active = find_active(&self.rows, now);
        let active = active.ok_or_else(|| Error::MissingRow { table: "data_key", id: "any".to_owned() })?;
        keyring.set(DataKeys { ciphers, active: active.id.clone(), mode: self.mode });
        Ok(())
    }
}

impl DataKeyRow {
    /// A new data key, which is not stored yet.
    pub(crate) async fn create(
        wrapping: &WrappingKeys,
        now: Timestamp,
        activation: Activation,
    ) -> Result<Self, Error> {
        let id = hex::encode(rand::rng().random::<[u8; 6]>());
        let wrapped = wrapping.wrap(&id, &generate_key()).await?;
        let delay = if activation == Activation::Now { 0 } else { ACTIVATION_DELAY_MILLIS };
        let (wrapping_key, active_from) = (wrapping.current(), now.plus_millis(delay));
        Ok(Self { id, wrapping_key, wrapped, created_at: now, active_from })
    }

    /// Its id.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    async fn unwrap(&self, wrapping: &WrappingKeys) -> Result<Cipher, Error> {
        Ok(Cipher::new(&wrapping.unwrap(&self.id, &self.wrapping_key, &self.wrapped).await?))
    }
}

/// When a new data key encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Activation {
    /// At once: it is the first one.
    Now,
    /// When every server has read it.
    WhenRead,
}

/// Stores a data key.
pub(crate) async fn insert(tx: &mut Tx, row: &DataKeyRow) -> Result<(), Error> {
    sql("INSERT INTO data_key (id, wrapping_key, wrapped, created_at, active_from) VALUES ($1, $2, $3, $4, $5)")
        .bind_text(&row.id)
        .bind_text(&row.wrapping_key)
        .bind_text(&row.wrapped)
        .bind(row.created_at.millis())
        .bind(row.active_from.millis())
        .execute(tx)
        .await
        .map(drop)
}

/// Stores the first data key, unless another server did.
pub(crate) async fn insert_first(tx: &mut Tx, row: &DataKeyRow) -> Result<(), Error> {
    if tx.is_postgres() {
        sql("LOCK TABLE data_key IN SHARE ROW EXCLUSIVE MODE").execute(tx).await?;
    }
    if list_rows(tx).await?.is_empty() { insert(tx, row).await } else { Ok(()) }
}

/// The data keys that another key than the current one wraps, wrapped by the current one.
pub(crate) async fn rewrap(keys: StoredKeys, wrapping: &WrappingKeys) -> Result<Vec<DataKeyRow>, Error> {
    let mut rewrapped = Vec::new();
    for row in keys.rows.into_iter().filter(|row| row.wrapping_key != wrapping.current()) {
        let key = wrapping.unwrap(&row.id, &row.wrapping_key, &row.wrapped).await?;
        let wrapped = wrapping.wrap(&row.id, &key).await?;
        rewrapped.push(DataKeyRow { wrapping_key: wrapping.current(), wrapped, ..row });
    }
    Ok(rewrapped)
}

/// Stores how a data key is wrapped.
pub(crate) async fn set_wrapping(tx: &mut Tx, row: &DataKeyRow) -> Result<(), Error> {
    sql("UPDATE data_key SET wrapping_key = $1, wrapped = $2 WHERE id = $3")
        .bind_text(&row.wrapping_key)
        .bind_text(&row.wrapped)
        .bind_text(&row.id)
        .execute(tx)
        .await
        .map(drop)
}
