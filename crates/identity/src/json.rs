//! JSON of other servers, bounded before it is parsed.

use serde_json::Value;

/// Most bytes of a document: discovery, keys, tokens, claims.
pub const MAX_DOCUMENT_BYTES: usize = 256 << 10;
/// Most values of a document. A value takes many times the memory of its shortest text.
const MAX_VALUES: usize = 20_000;

/// Why a document is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidJson {
    /// It has too many bytes or values.
    #[error("the document is too large")]
    TooLarge,
    /// It is no JSON.
    #[error("the document is not valid JSON")]
    Syntax,
}

/// Parses a document.
///
/// # Errors
/// It has more than [`MAX_DOCUMENT_BYTES`], too many values, or is no JSON.
pub fn parse_json(bytes: &[u8]) -> Result<Value, InvalidJson> {
    // Every value but the first stands behind one of these. Those inside texts count too, which only lowers the bound.
    let values = bytes.iter().filter(|byte| matches!(**byte, b',' | b'[' | b'{' | b':')).count();
    if bytes.len() > MAX_DOCUMENT_BYTES || values > MAX_VALUES {
        return Err(InvalidJson::TooLarge);
    }
    serde_json::from_slice(bytes).map_err(|_| InvalidJson::Syntax)
}
