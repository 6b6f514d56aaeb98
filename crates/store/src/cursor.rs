//! Page cursors: the sort key of the last row of a page, opaque to clients.

use crate::Error;

/// Encodes a cursor of the list `kind` from the parts of its sort key.
pub(crate) fn encode(kind: &str, parts: &[&str]) -> String {
    let mut all = vec![kind];
    all.extend(parts);
    hex::encode(all.join("\u{1f}"))
}

/// Decodes the `n` parts of a cursor of the list `kind`. Errors: [`Error::InvalidQuery`] for any other text.
pub(crate) fn decode(kind: &str, n: usize, cursor: Option<&str>) -> Result<Option<Vec<String>>, Error> {
    let Some(cursor) = cursor.filter(|cursor| !cursor.is_empty()) else { return Ok(None) };
    let parts = (cursor.len() <= 2048)
        .then(|| hex::decode(cursor).ok())
        .flatten()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .map(|text| text.split('\u{1f}').map(str::to_owned).collect::<Vec<_>>())
        .filter(|parts| parts.len() == n + 1 && parts[0] == kind)
        .ok_or_else(invalid_cursor)?;
    Ok(Some(parts[1..].to_vec()))
}

/// Parses a numeric part.
pub(crate) fn parse_number(part: &str) -> Result<i64, Error> {
    part.parse().map_err(|_| invalid_cursor())
}

fn invalid_cursor() -> Error {
    Error::InvalidQuery("The cursor does not belong to this list. Start without a cursor.".to_owned())
}

/// Removes the extra row that indicates a next page, and returns that page's cursor, made from the last remaining
/// row.
pub(crate) fn truncate_page<T>(
    rows: &mut Vec<T>,
    limit: u32,
    cursor: impl FnOnce(&T) -> String,
) -> Option<String> {
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
    fn a_cursor_reads_back_and_one_of_another_list_is_rejected() {
        let cursor = encode("name", &["web-1"]);
        assert_eq!(decode("name", 1, Some(&cursor)).unwrap(), Some(vec!["web-1".to_owned()]));
        assert_eq!(decode("name", 1, None).unwrap(), None);
        for bad in ["zz", "00", &encode("worst", &["web-1"]), &encode("name", &["a", "b"]), &"6".repeat(4096)]
        {
            assert!(matches!(decode("name", 1, Some(bad)), Err(Error::InvalidQuery(_))), "{bad}");
        }
    }
}
