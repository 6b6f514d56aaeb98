//! Decoding of rows: every column is checked, and an invalid row is distinguished from an error of the database.

use std::fmt::Display;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use sqlx::{Any, Decode, Row as _, Type};

use crate::Error;
use crate::large_value::process_value;
use crate::sealed::{SealedColumn, columns};
use crate::sql::StoredRow;

/// Why a row cannot be decoded.
pub(crate) type DecodeError = String;

/// One row of a table, by column name. Values of encrypted columns are decrypted.
pub(crate) struct RowReader<'r> {
    pub(crate) row: &'r StoredRow,
    pub(crate) table: &'static str,
}

impl<'r> RowReader<'r> {
    /// A column as the driver decodes it.
    pub(crate) fn get<T: Decode<'r, Any> + Type<Any>>(&self, column: &str) -> Result<T, DecodeError> {
        self.row.row.try_get(column).map_err(|error| format!("{column}: {error}"))
    }

    /// A text.
    pub(crate) fn text(&self, column: &str) -> Result<String, DecodeError> {
        self.decrypt(column, self.get(column)?)
    }

    /// A text, or NULL.
    pub(crate) fn opt_text(&self, column: &str) -> Result<Option<String>, DecodeError> {
        let text: Option<String> = self.get(column)?;
        text.map(|text| self.decrypt(column, text)).transpose()
    }

    /// Bytes.
    pub(crate) fn bytes(&self, column: &str) -> Result<Vec<u8>, DecodeError> {
        let stored: Vec<u8> = self.get(column)?;
        let size = stored.len();
        match columns::find(self.table, column) {
            Some(sealed) => {
                let key = self.key_of(sealed)?;
                let open = || self.row.keyring.open_bytes(sealed, &key, stored);
                process_value(size, open)
            }
            None => Ok(stored),
        }
    }

    fn decrypt(&self, column: &str, stored: String) -> Result<String, DecodeError> {
        let size = stored.len();
        match columns::find(self.table, column) {
            Some(sealed) => {
                let key = self.key_of(sealed)?;
                let open = || self.row.keyring.open_text(sealed, &key, stored);
                process_value(size, open)
            }
            None => Ok(stored),
        }
    }

    /// The key of the row, which statements that read an encrypted column select with it.
    fn key_of(&self, sealed: &SealedColumn) -> Result<Vec<String>, DecodeError> {
        let text = |name: &&str| {
            let text = self.get::<String>(name);
            text.or_else(|_| self.int(name).map(|number| number.to_string()))
        };
        sealed.key.iter().map(text).collect()
    }

    /// A number.
    pub(crate) fn int(&self, column: &str) -> Result<i64, DecodeError> {
        self.get(column)
    }

    /// A number that fits into `u32`.
    pub(crate) fn count(&self, column: &str) -> Result<u32, DecodeError> {
        self.int(column)?.try_into().map_err(|_| format!("{column}: out of range"))
    }

    /// A number that fits into `u32`, or NULL.
    pub(crate) fn opt_count(&self, column: &str) -> Result<Option<u32>, DecodeError> {
        let number: Option<i64> = self.get(column)?;
        number.map(|n| n.try_into().map_err(|_| format!("{column}: out of range"))).transpose()
    }

    /// A flag; any number but 0 is true.
    pub(crate) fn flag(&self, column: &str) -> Result<bool, DecodeError> {
        Ok(self.int(column)? != 0)
    }

    /// A timestamp.
    pub(crate) fn timestamp(&self, column: &str) -> Result<domain::Timestamp, DecodeError> {
        self.int(column).map(domain::Timestamp::from_millis)
    }

    /// A timestamp, or NULL.
    pub(crate) fn opt_timestamp(&self, column: &str) -> Result<Option<domain::Timestamp>, DecodeError> {
        let millis: Option<i64> = self.get(column)?;
        Ok(millis.map(domain::Timestamp::from_millis))
    }

    /// A value that is stored as its text, such as an id or a digest.
    pub(crate) fn parse<T: FromStr<Err: Display>>(&self, column: &str) -> Result<T, DecodeError> {
        self.text(column)?.parse().map_err(|error| format!("{column}: {error}"))
    }

    /// A value that is stored as its text, or NULL.
    pub(crate) fn opt_parse<T: FromStr<Err: Display>>(&self, column: &str) -> Result<Option<T>, DecodeError> {
        let text: Option<String> = self.get(column)?;
        text.map(|text| text.parse().map_err(|error| format!("{column}: {error}"))).transpose()
    }

    /// A variant of an enum, by its JSON name.
    pub(crate) fn enum_value<T: for<'de> Deserialize<'de>>(&self, column: &str) -> Result<T, DecodeError> {
        let name = self.text(column)?;
        let read: Result<T, serde::de::value::Error> = T::deserialize(name.as_str().into_deserializer());
        read.map_err(|error| format!("{column}: {error}"))
    }

    /// A structure that is stored as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, DecodeError> {
        decode_json(column, &self.text(column)?)
    }

    /// A structure that is stored as JSON; the default for `{}`, which stands for a value that was never reported.
    pub(crate) fn json_or_default<T: DeserializeOwned + Default>(
        &self,
        column: &str,
    ) -> Result<T, DecodeError> {
        match self.text(column)?.as_str() {
            "{}" => Ok(T::default()),
            text => decode_json(column, text),
        }
    }

    /// A structure that is stored as JSON, or NULL.
    pub(crate) fn opt_json<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, DecodeError> {
        self.opt_text(column)?.map(|text| decode_json(column, &text)).transpose()
    }
}

pub(crate) fn decode_json<T: DeserializeOwned>(column: &str, text: &str) -> Result<T, DecodeError> {
    // The message of serde_json may quote the value; only the position is reported.
    process_value(text.len(), || serde_json::from_str(text)).map_err(|error| {
        format!("{column}: unexpected JSON at line {} column {}", error.line(), error.column())
    })
}

/// Decodes the row, if there is one. Errors: [`Error::InvalidRow`] if it is invalid.
pub(crate) fn decode_row<T>(
    row: Option<StoredRow>,
    table: &'static str,
    read: impl Fn(&RowReader<'_>) -> Result<T, DecodeError>,
) -> Result<Option<T>, Error> {
    row.map(|row| decode_one(&row, table, read)).transpose()
}

/// Decodes a row. Errors: [`Error::InvalidRow`] if it is invalid.
pub(crate) fn decode_one<T>(
    row: &StoredRow,
    table: &'static str,
    read: impl Fn(&RowReader<'_>) -> Result<T, DecodeError>,
) -> Result<T, Error> {
    read(&RowReader { row, table }).map_err(|why| Error::InvalidRow { table, id: row_key(row), why })
}

/// Decodes every row. Errors: [`Error::InvalidRow`] for the first invalid one. A shorter list would be acted on as if
/// the row did not exist: clusters would lose workloads.
pub(crate) fn decode_rows<T>(
    rows: &[StoredRow],
    table: &'static str,
    read: impl Fn(&RowReader<'_>) -> Result<T, DecodeError>,
) -> Result<Vec<T>, Error> {
    rows.iter().map(|row| decode_one(row, table, &read)).collect()
}

/// Decodes the readable rows of a list that is only displayed. Invalid ones are left out, and logged with their number.
pub(crate) fn decode_readable_rows<T>(
    rows: &[StoredRow],
    table: &'static str,
    read: impl Fn(&RowReader<'_>) -> Result<T, DecodeError>,
) -> Vec<T> {
    let readable: Vec<T> = rows.iter().filter_map(|row| read_or_log(row, table, &read)).collect();
    log_left_out(table, rows.len() - readable.len());
    readable
}

/// Decodes the rows of a page that is only displayed, with the values for its cursor. An invalid row is logged and
/// `None`; its cursor values remain, so that the next page begins after it.
pub(crate) fn decode_page<K, T>(
    rows: &[StoredRow],
    table: &'static str,
    place: impl Fn(&RowReader<'_>) -> Result<K, DecodeError>,
    read: impl Fn(&RowReader<'_>) -> Result<T, DecodeError>,
) -> Vec<(K, Option<T>)> {
    let decode = |row: &StoredRow| Some((read_or_log(row, table, &place)?, read_or_log(row, table, &read)));
    let placed: Vec<(K, Option<T>)> = rows.iter().filter_map(decode).collect();
    let readable = placed.iter().filter(|(_, item)| item.is_some()).count();
    log_left_out(table, rows.len() - readable);
    placed
}

fn read_or_log<T>(
    row: &StoredRow,
    table: &'static str,
    read: &impl Fn(&RowReader<'_>) -> Result<T, DecodeError>,
) -> Option<T> {
    let log = |why: &DecodeError| tracing::error!(table, id = row_key(row), why, "a row can't be read");
    read(&RowReader { row, table }).inspect_err(log).ok()
}

fn log_left_out(table: &'static str, count: usize) {
    if count > 0 {
        tracing::error!(table, count, "rows that can't be read were left out of a displayed list");
    }
}

/// The first column of every statement is the row's key.
fn row_key(row: &StoredRow) -> String {
    let text = row.row.try_get::<String, _>(0);
    text.or_else(|_| row.row.try_get::<i64, _>(0).map(|n| n.to_string())).unwrap_or_default()
}
