//! Percent-encoding of path segments and query values: both contain names from user input.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986.
const QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Characters to encode in a path segment.
const SEGMENT: &AsciiSet = &QUERY.remove(b':');

/// Encodes a path segment. A name must not change the path.
pub(crate) fn encode_segment(text: &str) -> String {
    match text {
        "." | ".." => text.replace('.', "%2E"),
        text => utf8_percent_encode(text, SEGMENT).to_string(),
    }
}

/// Encodes a query value.
pub(crate) fn encode_query(text: &str) -> String {
    utf8_percent_encode(text, QUERY).to_string()
}
