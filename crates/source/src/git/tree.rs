//! Reads the files of a commit, or of an artifact, at a path into a bounded map. What no plain file is refuses the path, with the entry
//! named.

use std::collections::{BTreeMap, HashSet};

use gix_hash::ObjectId;
use gix_object::tree::EntryKind;
use gix_object::{Kind, TreeRefIter};
use unicode_normalization::UnicodeNormalization;

use super::error::{GitError, GitErrorKind, shorten};
use super::pack::CommitObjects;

/// Most files that are read.
pub const MAX_FILES: usize = 2_000;
/// Largest file, in bytes.
pub const MAX_FILE_BYTES: usize = 10 << 20;
/// Most bytes of all files.
pub const MAX_TOTAL_BYTES: usize = 32 << 20;
/// Most entries that are visited, folders included.
const MAX_ENTRIES: usize = 20_000;
/// Longest path of an entry, in bytes: the paths of all visited entries are in memory.
const MAX_PATH_BYTES: usize = 1_024;
/// Deepest nesting of folders below the path.
const MAX_DEPTH: usize = 32;
/// How the text begins that Git LFS stores in place of a file.
const LFS_HEADER: &[u8] = b"version https://git-lfs.github.com/spec/";

const NARROW_HINT: &str = "Choose a path without it, or replace it by a plain file.";

/// What is at a path.
pub enum PathContent<Id> {
    /// A folder.
    Folder(Id),
    /// A file.
    File {
        /// What names it.
        id: Id,
        /// The last part of its path.
        name: String,
    },
}

impl<Id> PathContent<Id> {
    /// What names it.
    pub(super) fn id(&self) -> &Id {
        match self {
            Self::Folder(id) | Self::File { id, .. } => id,
        }
    }
}

/// An entry of a folder.
pub struct TreeEntry<Id> {
    /// Its name, a single part of a path.
    pub name: String,
    /// What names it.
    pub id: Id,
    /// What it is.
    pub kind: EntryKind,
    /// Why its name is not allowed. It matters only to those who read the entry: another one in the same folder is none of their
    /// concern.
    pub refusal: Option<&'static str>,
}

impl<Id> TreeEntry<Id> {
    /// Refuses an entry whose name is not allowed. `path` is its path, for messages.
    fn check_name(&self, path: &str) -> Result<(), GitError> {
        match self.refusal {
            Some(reason) => Err(GitError::rejected(path, reason, "Rename it.")),
            None => Ok(()),
        }
    }
}

/// What becomes of an entry below a folder that is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryUse {
    /// A file is read, a folder is entered; anything else is refused.
    Read,
    /// A file is not read. What is no file or folder is refused nevertheless: its content is unknown.
    Skip,
    /// As if it were not there.
    Ignore,
}

/// Files in folders that can be read by their paths: a commit of Git, or an OCI artifact.
pub trait FileTree {
    /// Names a folder or a file.
    type Id: Clone;

    /// What it is, to begin a sentence: `Commit 1a2b3c4d`.
    fn label(&self) -> String;

    /// The folder with all of it.
    fn root(&self) -> Self::Id;

    /// The entries of a folder. `path` is its path, for messages.
    ///
    /// # Errors
    /// It can't be read.
    fn list_entries(&self, folder: &Self::Id, path: &str) -> Result<Vec<TreeEntry<Self::Id>>, GitError>;

    /// One file. `path` is its path, for messages.
    ///
    /// # Errors
    /// It can't be read, or exceeds [`MAX_FILE_BYTES`].
    fn read_file(&self, id: &Self::Id, path: &str) -> Result<Vec<u8>, GitError>;

    /// Finds a path, which is empty for the root.
    ///
    /// # Errors
    /// There is no such path, or it leads over a link.
    fn find_path(&self, path: &str) -> Result<PathContent<Self::Id>, GitError> {
        let mut content = PathContent::Folder(self.root());
        let mut walked = String::new();
        for part in path.split('/').filter(|part| !part.is_empty()) {
            let missing = || {
                GitError::new(
                    GitErrorKind::NotFound,
                    format!("{} has no {:?}.", self.label(), shorten(path)),
                    "Correct the path, or the ref if the path is in another branch or tag.",
                )
            };
            let PathContent::Folder(folder) = &content else { return Err(missing()) };
            let entries = self.list_entries(folder, &walked)?;
            let entry = entries.into_iter().find(|entry| entry.name == part).ok_or_else(missing)?;
            walked = join(&walked, part);
            entry.check_name(&walked)?;
            content = match entry.kind {
                EntryKind::Tree => PathContent::Folder(entry.id),
                EntryKind::Blob | EntryKind::BlobExecutable => {
                    PathContent::File { id: entry.id, name: entry.name }
                }
                EntryKind::Link | EntryKind::Commit => return Err(refuse_kind(&walked, entry.kind)),
            };
        }
        Ok(content)
    }

    /// The files below a folder that `select` reads, by their path below it; it is called with this path, and whether it is that
    /// of a folder. `shown` is the path of the folder.
    ///
    /// # Errors
    /// An entry can't be read, is no plain file, or exceeds the limits.
    fn read_folder(
        &self,
        folder: &Self::Id,
        shown: &str,
        select: impl Fn(&str, bool) -> EntryUse,
    ) -> Result<BTreeMap<String, Vec<u8>>, GitError> {
        let mut reader = FolderReader::default();
        let mut pending = vec![(folder.clone(), String::new(), 0_usize)];
        while let Some((folder, below, depth)) = pending.pop() {
            if depth > MAX_DEPTH {
                let reason = format!("is nested deeper than {MAX_DEPTH} folders");
                return Err(GitError::rejected(&join(shown, &below), &reason, "Choose a narrower path."));
            }
            for entry in self.list_entries(&folder, &join(shown, &below))? {
                let path = join(&below, &entry.name);
                let full = join(shown, &path);
                reader.count(&path, &full)?;
                let selected = select(&path, entry.kind == EntryKind::Tree);
                if selected == EntryUse::Ignore {
                    continue;
                }
                entry.check_name(&full)?;
                match entry.kind {
                    EntryKind::Tree => pending.push((entry.id, path, depth + 1)),
                    EntryKind::Blob | EntryKind::BlobExecutable if selected == EntryUse::Read => {
                        reader.insert(path, self.read_file(&entry.id, &full)?, &full)?;
                    }
                    EntryKind::Blob | EntryKind::BlobExecutable => {}
                    kind @ (EntryKind::Link | EntryKind::Commit) => return Err(refuse_kind(&full, kind)),
                }
            }
        }
        Ok(reader.files)
    }
}

impl FileTree for CommitObjects {
    type Id = ObjectId;

    fn label(&self) -> String {
        format!("Commit {}", domain::remote::short_commit(&self.details().id))
    }

    fn root(&self) -> ObjectId {
        self.tree()
    }

    fn list_entries(&self, folder: &ObjectId, path: &str) -> Result<Vec<TreeEntry<ObjectId>>, GitError> {
        let bytes = self.find(*folder, Kind::Tree)?;
        let mut entries = Vec::new();
        for entry in TreeRefIter::from_bytes(&bytes, folder.kind()) {
            let entry = entry.map_err(|_| {
                GitError::invalid(format!("The folder {:?} of the repository is damaged.", shorten(path)))
            })?;
            let raw: &[u8] = entry.filename.as_ref();
            let name = String::from_utf8_lossy(raw).into_owned();
            let is_refused = name.is_empty()
                || matches!(&*name, "." | "..")
                || name.eq_ignore_ascii_case(".git")
                || name.contains(['/', '\\', ':'])
                || name.chars().any(char::is_control);
            let refusal = if std::str::from_utf8(raw).is_err() {
                Some("has a name that is not UTF-8")
            } else {
                is_refused.then_some("has a name that is not allowed")
            };
            entries.push(TreeEntry { name, id: entry.oid.to_owned(), kind: entry.mode.kind(), refusal });
        }
        Ok(entries)
    }

    fn read_file(&self, id: &ObjectId, path: &str) -> Result<Vec<u8>, GitError> {
        if !self.has(*id) {
            return Err(too_large(path));
        }
        let bytes = self.find(*id, Kind::Blob)?;
        if bytes.len() > MAX_FILE_BYTES {
            return Err(too_large(path));
        }
        if bytes.starts_with(LFS_HEADER) {
            return Err(GitError::rejected(
                path,
                "is a pointer to Git LFS, not the file",
                "Store the file itself in the repository.",
            ));
        }
        Ok(bytes)
    }
}

/// What has been read of a folder.
#[derive(Default)]
struct FolderReader {
    files: BTreeMap<String, Vec<u8>>,
    entries: usize,
    total: usize,
    /// The paths as a file system sees them that ignores case and normalizes names.
    folded: HashSet<String>,
}

impl FolderReader {
    fn count(&mut self, path: &str, full: &str) -> Result<(), GitError> {
        self.entries += 1;
        if self.entries > MAX_ENTRIES {
            let reason = format!("is one more than the {MAX_ENTRIES} entries that are allowed");
            return Err(GitError::rejected(full, &reason, "Choose a narrower path."));
        }
        if full.len() > MAX_PATH_BYTES {
            let reason = format!("has a path of {} bytes; at most {MAX_PATH_BYTES} are allowed", full.len());
            return Err(GitError::rejected(full, &reason, "Use shorter names."));
        }
        if !self.folded.insert(path.to_lowercase().nfc().collect()) {
            let reason = "differs from another one only by case or by its encoding";
            return Err(GitError::rejected(full, reason, "Rename one of them."));
        }
        Ok(())
    }

    fn insert(&mut self, path: String, bytes: Vec<u8>, full: &str) -> Result<(), GitError> {
        self.total += bytes.len();
        let reason = if self.files.len() >= MAX_FILES {
            format!("is one more than the {MAX_FILES} files that are allowed")
        } else if self.total > MAX_TOTAL_BYTES {
            format!("exceeds the limit of {MAX_TOTAL_BYTES} bytes of all files")
        } else {
            self.files.insert(path, bytes);
            return Ok(());
        };
        Err(GitError::rejected(full, &reason, "Choose a narrower path."))
    }
}

fn refuse_kind(path: &str, kind: EntryKind) -> GitError {
    let reason = match kind {
        EntryKind::Commit => "is a submodule, whose repository is not read",
        _ => "is a symbolic link, not a plain file",
    };
    GitError::rejected(path, reason, NARROW_HINT)
}

fn too_large(path: &str) -> GitError {
    let reason = format!("has more than {MAX_FILE_BYTES} bytes");
    GitError {
        kind: GitErrorKind::TooLarge,
        ..GitError::rejected(path, &reason, "Choose a path without it.")
    }
}

pub(super) fn join(folder: &str, name: &str) -> String {
    match (folder, name) {
        ("", name) => name.to_owned(),
        (folder, "") => folder.to_owned(),
        (folder, name) => format!("{folder}/{name}"),
    }
}

#[cfg(test)]
mod tests;
