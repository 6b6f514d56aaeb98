//! Operations on repositories of charts.

use serde::Deserialize;

pub mod create;
pub mod delete;
pub mod get;
pub mod list;
pub mod put;
pub mod refresh;

/// Path parameters of a repository.
#[derive(Debug, Deserialize)]
pub struct ChartRepositoryPath {
    /// Its name.
    repository: String,
}
