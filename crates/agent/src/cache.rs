//! State that an agent persists over a restart: its key and certificate, and the cluster's desired state (P8).
//!
//! Outside a cluster the backend is a directory, inside it Secrets in the agent's namespace. Both store named entries.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

mod disk;
mod secrets;

pub use disk::DiskCache;
pub use secrets::SecretCache;

/// Why an entry can't be written or read.
#[derive(Debug, thiserror::Error)]
#[error("{entry}: {cause}")]
pub struct CacheError {
    entry: String,
    cause: String,
}

impl CacheError {
    pub(crate) fn new(what: &str, why: &dyn fmt::Display) -> Self {
        Self { entry: what.to_owned(), cause: why.to_string() }
    }
}

/// Stores small named entries. Names are lower-case letters, digits and `-`.
#[async_trait]
pub trait Cache: Send + Sync {
    /// The entry of this name; `None` if there is none, or if it was written only in part.
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CacheError>;
    /// Writes an entry; replaces an existing one.
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), CacheError>;
    /// Removes an entry; not an error if there is none.
    async fn remove(&self, name: &str) -> Result<(), CacheError>;
    /// The names of all entries.
    async fn list_names(&self) -> Result<Vec<String>, CacheError>;
}

/// A shared handle to a [`Cache`]. Cheap to clone.
#[derive(Clone)]
pub struct SharedCache(Arc<dyn Cache>);

impl SharedCache {
    /// A handle to this backend.
    pub fn new(backend: impl Cache + 'static) -> Self {
        Self(Arc::new(backend))
    }
}

impl std::ops::Deref for SharedCache {
    type Target = dyn Cache;
    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for SharedCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedCache")
    }
}
