//! The private folder of a server for the files of renderings and fetches, which contain values and secrets.
//!
//! It is readable by its owner only. Each server has a folder of its own in it, beside a file that it locks as long as it lives:
//! the kernel releases the lock however the process ends. So the next server deletes what no living server owns.
//!
//! ```text
//! scratch/lock                 held while a server prepares its folder
//! scratch/server-a1b2c3        the folder of a server
//! scratch/server-a1b2c3.lock   locked by this server
//! ```

use std::fs::{DirBuilder, File, OpenOptions, Permissions, TryLockError};
use std::io::{Error, ErrorKind, Result, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;

/// The file that is locked while a server prepares its folder.
const LOCK_FILE: &str = "lock";
/// What the names of the folders of servers begin with.
const SERVER_PREFIX: &str = "server-";
/// The mode of folders.
const FOLDER_MODE: u32 = 0o700;
/// The mode of files.
const FILE_MODE: u32 = 0o600;
/// How often the deletion of a folder is tried: a renderer of a server that was killed a moment ago may still write.
const DELETE_ATTEMPTS: u32 = 20;
/// The pause between two attempts.
const DELETE_PAUSE: Duration = Duration::from_millis(50);

/// The folder of this server. Clones share it; the last one deletes it.
#[derive(Debug, Clone)]
pub struct ScratchFolder(Arc<OwnedFolder>);

#[derive(Debug)]
struct OwnedFolder {
    folder: TempDir,
    lock_path: PathBuf,
    /// Locked until it is closed.
    _lock: File,
}

impl Drop for OwnedFolder {
    fn drop(&mut self) {
        // The folder follows; a server that finds it without this file deletes it.
        let _ = std::fs::remove_file(&self.lock_path);
    }
}

impl ScratchFolder {
    /// The folder for servers without a data folder, in the system's folder for temporary files. It has the user's id in its name,
    /// because everybody may create files there.
    pub fn default_parent() -> PathBuf {
        std::env::temp_dir().join(format!("flotilla-{}", nix::unistd::geteuid()))
    }

    /// Creates a folder for this process in `parent`, which is created if it does not exist, and deletes the folders in it that no
    /// living process owns.
    ///
    /// # Errors
    /// `parent` can't be created or locked, or belongs to another user.
    pub fn open(parent: &Path) -> Result<Self> {
        prepare_parent(parent)?;
        // Renderers have another working directory.
        let parent = parent.canonicalize()?;
        let preparing = open_lock(&parent.join(LOCK_FILE))?;
        preparing.lock()?;
        delete_leftovers(&parent)?;
        let folder = create_in(&parent, SERVER_PREFIX)?;
        let lock_path = folder.path().with_extension(LOCK_FILE);
        let lock = open_lock(&lock_path)?;
        lock.lock()?;
        Ok(Self(Arc::new(OwnedFolder { folder, lock_path, _lock: lock })))
    }

    /// Its path, without links.
    pub fn path(&self) -> &Path {
        self.0.folder.path()
    }

    /// Creates a folder in it, which is deleted when it is dropped.
    ///
    /// # Errors
    /// The disk is full or not writable.
    pub(crate) fn create_folder(&self, prefix: &str) -> Result<TempDir> {
        create_in(self.path(), prefix)
    }
}

/// Creates a folder that only its owner can read.
pub(crate) fn create_private_folder(path: &Path) -> Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

/// Writes a new file that only its owner can read.
pub(crate) fn write_private_file(path: &Path, bytes: &[u8]) -> Result<()> {
    OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?.write_all(bytes)
}

fn create_in(parent: &Path, prefix: &str) -> Result<TempDir> {
    let mode = Permissions::from_mode(FOLDER_MODE);
    tempfile::Builder::new().prefix(prefix).permissions(mode).tempdir_in(parent)
}

fn open_lock(path: &Path) -> Result<File> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(FILE_MODE).open(path)
}

/// Creates the folder, and checks that nobody else created it.
fn prepare_parent(parent: &Path) -> Result<()> {
    create_private_folder(parent)?;
    let found = std::fs::symlink_metadata(parent)?;
    if !found.is_dir() || found.uid() != nix::unistd::geteuid().as_raw() {
        let message = format!(
            "{} is not a folder of the user that runs the server; remove it, or set TMPDIR to another folder",
            parent.display()
        );
        return Err(Error::new(ErrorKind::PermissionDenied, message));
    }
    if found.mode() & 0o077 != 0 {
        std::fs::set_permissions(parent, Permissions::from_mode(FOLDER_MODE))?;
    }
    Ok(())
}

/// Deletes the folders of servers that have ended. One that can't be deleted is logged, and tried again at the next start.
fn delete_leftovers(parent: &Path) -> Result<()> {
    for entry in std::fs::read_dir(parent)? {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !name.starts_with(SERVER_PREFIX) {
            continue;
        }
        let is_lock = path.extension().is_some_and(|extension| extension == LOCK_FILE);
        let lock_path = path.with_extension(LOCK_FILE);
        if is_locked(&lock_path)? {
            continue;
        }
        let deleted = if is_lock { std::fs::remove_file(&path) } else { delete_folder(&path) };
        if let Err(error) = deleted.or_else(ignore_missing) {
            tracing::error!(path = %path.display(), %error, "files of a rendering by a server that has ended can't be deleted; delete them");
        }
    }
    Ok(())
}

/// Whether a living process has locked the file.
fn is_locked(path: &Path) -> Result<bool> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn delete_folder(path: &Path) -> Result<()> {
    let mut result = std::fs::remove_dir_all(path);
    for _ in 1..DELETE_ATTEMPTS {
        if result.is_ok() {
            break;
        }
        std::thread::sleep(DELETE_PAUSE);
        result = std::fs::remove_dir_all(path);
    }
    result
}

fn ignore_missing(error: Error) -> Result<()> {
    if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn p34_only_the_owner_can_read_it_and_it_is_deleted_with_its_last_clone() {
        let data = tempfile::tempdir().unwrap();
        let parent = data.path().join("scratch");
        std::fs::create_dir(&parent).unwrap();
        std::fs::set_permissions(&parent, Permissions::from_mode(0o755)).unwrap();
        let scratch = ScratchFolder::open(&parent).unwrap();
        let folder = scratch.create_folder("chart-").unwrap();
        create_private_folder(&folder.path().join("home")).unwrap();
        write_private_file(&folder.path().join("values.yaml"), b"password: x").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
        for path in [&parent, scratch.path(), folder.path(), &folder.path().join("home")] {
            assert_eq!(mode(path), 0o700, "{}", path.display());
        }
        assert_eq!(mode(&folder.path().join("values.yaml")), 0o600);
        drop(folder);
        assert!(names(scratch.path()).is_empty());
        let clone = scratch.clone();
        drop(scratch);
        assert_eq!(names(&parent).len(), 3);
        drop(clone);
        assert_eq!(names(&parent), [LOCK_FILE]);
    }

    #[test]
    fn p34_a_start_deletes_what_no_living_server_owns() {
        let parent = tempfile::tempdir().unwrap();
        let living = ScratchFolder::open(parent.path()).unwrap();
        let kept = living.create_folder("chart-").unwrap();
        // As a server leaves it that is killed: nobody holds the lock.
        let dead = parent.path().join("server-dead");
        std::fs::create_dir_all(dead.join("chart-x/output")).unwrap();
        std::fs::write(dead.join("chart-x/values.yaml"), "password: x").unwrap();
        std::fs::write(parent.path().join("server-dead.lock"), "").unwrap();
        std::fs::write(parent.path().join("server-gone.lock"), "").unwrap();
        std::fs::write(parent.path().join("note"), "of somebody else").unwrap();
        let started = ScratchFolder::open(parent.path()).unwrap();
        assert!(kept.path().is_dir(), "the other server renders");
        let name = |scratch: &ScratchFolder| scratch.path().file_name().unwrap().to_str().unwrap().to_owned();
        let mut expected = vec![LOCK_FILE.to_owned(), "note".to_owned()];
        for scratch in [&living, &started] {
            expected.extend([name(scratch), format!("{}.lock", name(scratch))]);
        }
        expected.sort();
        assert_eq!(names(parent.path()), expected);
    }

    #[test]
    fn a_folder_that_is_a_link_is_refused() {
        let data = tempfile::tempdir().unwrap();
        let (target, link) = (data.path().join("target"), data.path().join("link"));
        std::fs::create_dir(&target).unwrap();
        std::os::unix::fs::symlink(&target, &link).unwrap();
        let refused = ScratchFolder::open(&link).unwrap_err();
        assert!(refused.to_string().contains("remove it"), "{refused}");
    }
}
