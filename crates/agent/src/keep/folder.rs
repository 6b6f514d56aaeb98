//! A folder that only its owner can read: one file for each thing.

use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use async_trait::async_trait;

use super::{Keep, KeepError};

/// Keeps things in a folder.
pub struct Folder(PathBuf);

impl Folder {
    /// The folder; made if it is not there.
    ///
    /// # Errors
    /// It can't be made.
    pub fn open(path: &Path) -> Result<Self, KeepError> {
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(|error| failed(path, &error))?;
        Ok(Self(path.to_owned()))
    }

    async fn blocking<T: Send + 'static>(
        &self,
        name: &str,
        act: impl FnOnce(&Path) -> std::io::Result<T> + Send + 'static,
    ) -> Result<T, KeepError> {
        let path = self.0.join(name);
        let shown = path.clone();
        let done = tokio::task::spawn_blocking(move || act(&path)).await;
        done.map_err(|error| failed(&shown, &error))?.map_err(|error| failed(&shown, &error))
    }
}

fn failed(path: &Path, why: &dyn std::fmt::Display) -> KeepError {
    KeepError::new(&path.display().to_string(), why)
}

/// Beside it, then in its place: a crash leaves the old one or the new one.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let beside = path.with_extension("new");
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    std::fs::rename(&beside, path)
}

#[async_trait]
impl Keep for Folder {
    async fn get(&self, name: &str) -> Result<Option<Vec<u8>>, KeepError> {
        self.blocking(name, |path| match std::fs::read(path) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        })
        .await
    }

    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), KeepError> {
        let bytes = bytes.to_vec();
        self.blocking(name, move |path| write(path, &bytes)).await
    }

    async fn remove(&self, name: &str) -> Result<(), KeepError> {
        self.blocking(name, |path| match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        })
        .await
    }

    async fn names(&self) -> Result<Vec<String>, KeepError> {
        self.blocking("", |folder| {
            let entries = std::fs::read_dir(folder)?.flatten();
            let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
            Ok(names.filter(|name| !name.contains('.')).collect())
        })
        .await
    }
}
