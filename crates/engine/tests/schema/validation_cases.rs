//! Invalid objects, and unusual objects that are valid.

use serde::Deserialize;
use serde_json::Value;

/// An invalid object.
#[derive(Deserialize)]
pub struct InvalidObject {
    /// Description of the violation.
    pub what: String,
    /// JSON pointer of the only finding.
    pub at: String,
    /// Part of the server's error message.
    pub server: String,
    pub object: Value,
}

/// A valid object.
#[derive(Deserialize)]
pub struct ValidObject {
    /// Description of what is unusual.
    pub what: String,
    pub object: Value,
}

/// All objects that must be rejected.
pub fn invalid_objects() -> Vec<InvalidObject> {
    serde_json::from_str(include_str!("invalid.json")).unwrap()
}

/// All objects that must be accepted.
pub fn valid_objects() -> Vec<ValidObject> {
    serde_json::from_str(include_str!("valid.json")).unwrap()
}
