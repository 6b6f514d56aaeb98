//! A directory that only its owner can read: one file per entry.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::{Cache, CacheError};

/// Stores entries in a directory.
pub struct DiskCache(PathBuf);

impl DiskCache {
    /// Opens the directory; creates it if it does not exist.
    ///
    /// # Errors
    /// The directory can't be created.
    pub fn open(path: &Path) -> Result<Self, CacheError> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(|error| cache_error(path, &error))?;
        Ok(Self(path.to_owned()))
    }

    async fn run_blocking<T: Send + 'static>(
        &self,
        name: &str,
        act: impl FnOnce(&Path) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, CacheError> {
        let path = self.0.join(name);
        let file = path.clone();
        let result = tokio::task::spawn_blocking(move || act(&path)).await;
        result.map_err(|error| cache_error(&file, &error))?.map_err(|error| cache_error(&file, &error))
    }
}

fn cache_error(path: &Path, why: &dyn std::fmt::Display) -> CacheError {
    CacheError::new(&path.display().to_string(), why)
}

/// Writes a temporary file and renames it: a crash leaves the old or the new content.
fn write_atomically(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let temporary = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&temporary, path)
}

#[async_trait]
impl Cache for DiskCache {
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, CacheError> {
        self.run_blocking(name, |path| match std::fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), CacheError> {
        let bytes = bytes.to_vec();
        self.run_blocking(name, move |path| write_atomically(path, &bytes)).await
    }

    async fn remove(&self, name: &str) -> Result<(), CacheError> {
        self.run_blocking(name, |path| match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    async fn list_names(&self) -> Result<Vec<String>, CacheError> {
        self.run_blocking("", |directory| {
            let entries = std::fs::read_dir(directory)?.flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            Ok(names.filter(|name| !name.contains('.')).collect())
        })
        .await
    }
}
