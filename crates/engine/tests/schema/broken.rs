//! Objects that do not fit, and objects that look odd and fit all the same.

use serde::Deserialize;
use serde_json::Value;

/// An object that does not fit.
#[derive(Deserialize)]
pub struct Broken {
    /// What is wrong, in words.
    pub what: String,
    /// JSON pointer of our only finding.
    pub at: String,
    /// What the server's answer holds.
    pub server: String,
    pub object: Value,
}

/// An object that the server takes.
#[derive(Deserialize)]
pub struct Taken {
    /// What is odd.
    pub what: String,
    pub object: Value,
}

/// Everything that must be refused.
pub fn broken() -> Vec<Broken> {
    serde_json::from_str(include_str!("broken.json")).unwrap()
}

/// Everything that must be taken.
pub fn taken() -> Vec<Taken> {
    serde_json::from_str(include_str!("taken.json")).unwrap()
}
