//! Memory for stored JSON that is decoded: counted in its text before, and admitted by whoever knows what the process may use.
//!
//! Limits at the door bound what is stored now. Rows that an earlier version stored may have more values, and nested ones need a hundred
//! times their text.

use std::sync::OnceLock;

use domain::bounded_json::JsonSize;

use crate::Error;
use crate::decode::RowReader;
use crate::large_value::process_value;
use crate::sql::StoredRow;

/// Whether so many bytes may be in memory until the request ends for which this task works; it may not wait, because a transaction may be
/// open.
pub type DecodeAdmission = fn(u64) -> bool;

static ADMISSION: OnceLock<DecodeAdmission> = OnceLock::new();

/// What a request has for the values of what it reads without asking for it, in bytes: that of usual drafts.
const COVERED_BYTES: u64 = 2 << 20;
/// A text of at most this many bytes does not need more than is covered.
const SMALL_TEXT_BYTES: usize = 16 << 10;

/// Sets who admits stored values of the process. The first one stays; without one, all are admitted.
pub fn set_decode_admission(admission: DecodeAdmission) {
    let _ = ADMISSION.set(admission);
}

/// Admits what these values need beyond what every request has. Their text is not counted: it is in memory already, and is reserved by the
/// size of the response.
///
/// # Errors
/// [`Error::NoMemory`]
pub(crate) fn admit(size: JsonSize) -> Result<(), Error> {
    let needed = JsonSize { bytes: 0, ..size }.stored_bytes().saturating_sub(COVERED_BYTES);
    if needed == 0 || ADMISSION.get().is_none_or(|admit| admit(needed)) {
        Ok(())
    } else {
        Err(Error::NoMemory)
    }
}

/// Admits the JSON in this column. One that can't be decrypted is reported by whoever decodes it.
///
/// # Errors
/// [`Error::NoMemory`]
pub(crate) fn admit_column(row: &StoredRow, table: &'static str, column: &'static str) -> Result<(), Error> {
    match measure_column(row, table, column) {
        Some(size) => admit(size),
        None => Ok(()),
    }
}

/// The size of the JSON in this column; `None` if it is small, or can't be decrypted.
pub(crate) fn measure_column(row: &StoredRow, table: &'static str, column: &'static str) -> Option<JsonSize> {
    let reader = RowReader { row, table };
    let stored_bytes = reader.get::<String>(column).ok()?.len();
    if stored_bytes <= SMALL_TEXT_BYTES {
        return None;
    }
    let text = reader.text(column).ok()?;
    Some(process_value(text.len(), || JsonSize::of_text(text.as_bytes())))
}
