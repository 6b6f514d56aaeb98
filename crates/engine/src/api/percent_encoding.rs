//! Percent-encoding of path segments and query values: both contain names from user input.

use std::fmt::Write as _;

/// Encodes a path segment. A name must not change the path.
pub(crate) fn encode_segment(text: &str) -> String {
    match text {
        "." | ".." => text.replace('.', "%2E"),
        text => encode_except(text, b":"),
    }
}

/// Encodes a query value.
pub(crate) fn encode_query(text: &str) -> String {
    encode_except(text, b"")
}

/// Encodes all bytes but the unreserved ones of RFC 3986 and `literal`.
fn encode_except(text: &str, literal: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || literal.contains(&byte) {
            out.push(byte as char);
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}
