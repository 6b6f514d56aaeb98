//! Reading rows: every column is checked, and a row that says the impossible is told apart from a database that failed.

use std::fmt::Display;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde::de::IntoDeserializer;
use sqlx::any::AnyRow;
use sqlx::{Any, Decode, Row as _, Type};

use crate::Error;

/// What is wrong with a row.
pub(crate) type Why = String;

/// One row, by column name.
pub(crate) struct Record<'r>(pub(crate) &'r AnyRow);

impl<'r> Record<'r> {
    /// A column as the driver has it.
    pub(crate) fn get<T: Decode<'r, Any> + Type<Any>>(&self, column: &str) -> Result<T, Why> {
        self.0.try_get(column).map_err(|error| format!("{column}: {error}"))
    }

    /// A text.
    pub(crate) fn text(&self, column: &str) -> Result<String, Why> {
        self.get(column)
    }

    /// A number.
    pub(crate) fn int(&self, column: &str) -> Result<i64, Why> {
        self.get(column)
    }

    /// A small number that can't be negative.
    pub(crate) fn count(&self, column: &str) -> Result<u32, Why> {
        self.int(column)?.try_into().map_err(|_| format!("{column}: out of range"))
    }

    /// A small number or nothing.
    pub(crate) fn opt_count(&self, column: &str) -> Result<Option<u32>, Why> {
        let number: Option<i64> = self.get(column)?;
        number.map(|n| n.try_into().map_err(|_| format!("{column}: out of range"))).transpose()
    }

    /// Yes or no.
    pub(crate) fn flag(&self, column: &str) -> Result<bool, Why> {
        Ok(self.int(column)? != 0)
    }

    /// An instant.
    pub(crate) fn at(&self, column: &str) -> Result<domain::Timestamp, Why> {
        self.int(column).map(domain::Timestamp::from_millis)
    }

    /// An instant or nothing.
    pub(crate) fn opt_at(&self, column: &str) -> Result<Option<domain::Timestamp>, Why> {
        let millis: Option<i64> = self.get(column)?;
        Ok(millis.map(domain::Timestamp::from_millis))
    }

    /// Something kept as its text: an id, a digest.
    pub(crate) fn parse<T: FromStr<Err: Display>>(&self, column: &str) -> Result<T, Why> {
        self.text(column)?.parse().map_err(|error| format!("{column}: {error}"))
    }

    /// Something kept as its text, or nothing.
    pub(crate) fn opt_parse<T: FromStr<Err: Display>>(&self, column: &str) -> Result<Option<T>, Why> {
        let text: Option<String> = self.get(column)?;
        text.map(|text| text.parse().map_err(|error| format!("{column}: {error}"))).transpose()
    }

    /// A word of an enum, the same as in JSON.
    pub(crate) fn word<T: for<'de> Deserialize<'de>>(&self, column: &str) -> Result<T, Why> {
        let word = self.text(column)?;
        let read: Result<T, serde::de::value::Error> = T::deserialize(word.as_str().into_deserializer());
        read.map_err(|error| format!("{column}: {error}"))
    }

    /// A structure kept as JSON.
    pub(crate) fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, Why> {
        // The message of serde_json may quote the value; only the place is told.
        serde_json::from_str(&self.text(column)?).map_err(|error| {
            format!("{column}: no such structure at line {} column {}", error.line(), error.column())
        })
    }
}

/// The one row, if there is one.
pub(crate) fn one<T>(
    row: Option<AnyRow>,
    table: &'static str,
    read: impl Fn(&Record<'_>) -> Result<T, Why>,
) -> Result<Option<T>, Error> {
    let Some(row) = row else { return Ok(None) };
    read(&Record(&row)).map(Some).map_err(|why| Error::Inconsistent { table, id: key(&row), why })
}

/// All rows that can be read; the others are logged and left out.
pub(crate) fn all<T>(
    rows: &[AnyRow],
    table: &'static str,
    read: impl Fn(&Record<'_>) -> Result<T, Why>,
) -> Vec<T> {
    let readable = |row: &AnyRow| {
        let record = read(&Record(row));
        record.inspect_err(|why| tracing::error!(table, id = key(row), why, "left out a row")).ok()
    };
    rows.iter().filter_map(readable).collect()
}

/// The rows of a page with what its cursor is made of. A row that can't be read keeps its place, so that the next page
/// begins after it, and is `None`.
pub(crate) fn paged<K, T>(
    rows: &[AnyRow],
    table: &'static str,
    place: impl Fn(&Record<'_>) -> Result<K, Why>,
    read: impl Fn(&Record<'_>) -> Result<T, Why>,
) -> Vec<(K, Option<T>)> {
    all(rows, table, |row| {
        let bad = |why: &Why| tracing::error!(table, id = key(row.0), why, "left out a row");
        Ok((place(row)?, read(row).inspect_err(bad).ok()))
    })
}

/// The first column of every statement is the row's key.
fn key(row: &AnyRow) -> String {
    let text = row.try_get::<String, _>(0);
    text.or_else(|_| row.try_get::<i64, _>(0).map(|n| n.to_string())).unwrap_or_default()
}
