//! Operations on cluster groups.

use serde::Deserialize;

pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod preview;
pub mod put;

/// Path parameters of a cluster group.
#[derive(Debug, Deserialize)]
pub struct GroupPath {
    /// Its name.
    group: String,
}
