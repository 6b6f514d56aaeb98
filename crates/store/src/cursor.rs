//! Cursors: where a page ended, opaque to whoever carries them.

use crate::Error;

/// The parts of a cursor, in the order of the list it belongs to.
pub(crate) fn write(kind: &str, parts: &[&str]) -> String {
    let mut all = vec![kind];
    all.extend(parts);
    hex::encode(all.join("\u{1f}"))
}

/// The `n` parts of a cursor of this kind. What a stranger made up is refused, not guessed at.
pub(crate) fn read(kind: &str, n: usize, cursor: Option<&str>) -> Result<Option<Vec<String>>, Error> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(None) };
    let parts = (cursor.len() <= 2048)
        .then(|| hex::decode(cursor).ok())
        .flatten()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(|text| text.split('\u{1f}').map(str::to_owned).collect::<Vec<_>>())
        .filter(|parts| parts.len() == n + 1 && parts[0] == kind)
        .ok_or_else(bad)?;
    Ok(Some(parts[1..].to_vec()))
}

/// A part that is a number.
pub(crate) fn number(part: &str) -> Result<i64, Error> {
    part.parse().map_err(|_| bad())
}

fn bad() -> Error {
    Error::Query("The cursor is not one of this list; begin without one.".to_owned())
}

/// Cuts the one row too many that tells whether there is a next page, and makes its cursor from the last row kept.
pub(crate) fn cut<T>(rows: &mut Vec<T>, limit: u32, cursor: impl FnOnce(&T) -> String) -> Option<String> {
    let limit = limit as usize;
    if rows.len() <= limit {
        return None;
    }
    rows.truncate(limit);
    rows.last().map(cursor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_back_and_one_of_another_list_is_refused() {
        let cursor = write("name", &["web-1"]);
        assert_eq!(read("name", 1, Some(&cursor)).unwrap(), Some(vec!["web-1".to_owned()]));
        assert_eq!(read("name", 1, None).unwrap(), None);
        for bad in ["zz", "00", &write("worst", &["web-1"]), &write("name", &["a", "b"]), &"6".repeat(4096)] {
            assert!(matches!(read("name", 1, Some(bad)), Err(Error::Query(_))), "{bad}");
        }
    }
}
