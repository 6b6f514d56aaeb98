//! What an agent keeps over a restart: its key and certificate, and what its cluster should hold (P8).
//!
//! Beside a cluster it is a folder, in a cluster it is Secrets of the agent's own namespace. Both keep named things.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

mod folder;
mod secrets;

pub use folder::Folder;
pub use secrets::Secrets;

/// Why something can't be kept or read.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
pub struct KeepError {
    what: String,
    why: String,
}

impl KeepError {
    pub(crate) fn new(what: &str, why: &dyn fmt::Display) -> Self {
        Self { what: what.to_owned(), why: why.to_string() }
    }
}

/// Keeps small named things. Names are lower-case letters, digits and `-`.
#[async_trait]
pub trait Keep: Send + Sync {
    /// What is kept under a name; `None` if nothing is, or only half of it was written.
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, KeepError>;
    /// Keeps it, in place of what was there.
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), KeepError>;
    /// Forgets it; it need not be there.
    async fn remove(&self, name: &str) -> Result<(), KeepError>;
    /// All names.
    async fn names(&self) -> Result<Vec<String>, KeepError>;
}

/// Where things are kept. Cheap to clone.
#[derive(Clone)]
pub struct Keeper(Arc<dyn Keep>);

impl Keeper {
    /// Keeps things here.
    pub fn new(keep: impl Keep + 'static) -> Self {
        Self(Arc::new(keep))
    }
}

impl std::ops::Deref for Keeper {
    type Target = dyn Keep;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keeper")
    }
}
