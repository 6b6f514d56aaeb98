//! Operations on cluster groups.

use serde::Deserialize;

pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod put;

/// A cluster group.
#[derive(Debug, Deserialize)]
pub struct OfGroup {
    /// Its name.
    group: String,
}
