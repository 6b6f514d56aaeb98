//! Operations on Git repositories.

use serde::Deserialize;

pub mod delete;
pub mod get;
pub mod list;
pub mod put;
pub mod webhook;

/// Path parameters of a repository.
#[derive(Debug, Deserialize)]
pub struct GitRepositoryPath {
    /// Its name.
    repository: String,
}
