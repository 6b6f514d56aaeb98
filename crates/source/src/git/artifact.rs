//! The files of an OCI artifact, read by their paths as those of a commit are.

use std::collections::{BTreeMap, BTreeSet};

use domain::{Digest, Timestamp};
use gix_object::tree::EntryKind;

use super::error::{GitError, GitErrorKind, shorten};
use super::pack::CommitDetails;
use super::tree::{FileTree, MAX_FILE_BYTES, TreeEntry, join};
use crate::repository::FetchedArtifact;

/// Annotation with the authors.
const AUTHORS: &str = "org.opencontainers.image.authors";
/// Annotations that say what the artifact was made from, the first that is there.
const SUBJECTS: [&str; 3] = [
    "org.opencontainers.image.revision",
    "org.opencontainers.image.version",
    "org.opencontainers.image.title",
];
/// Annotation with the time of its creation.
const CREATED: &str = "org.opencontainers.image.created";

/// The files of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFiles {
    digest: Digest,
    archive: Digest,
    details: CommitDetails,
    files: BTreeMap<String, Vec<u8>>,
}

impl From<FetchedArtifact> for ArtifactFiles {
    fn from(fetched: FetchedArtifact) -> Self {
        let FetchedArtifact { digest, archive, annotations, files } = fetched;
        let text = |name: &str| annotations.get(name).map(|text| shorten(text.trim())).unwrap_or_default();
        let subject = SUBJECTS.iter().map(|name| text(name)).find(|text| !text.is_empty());
        let created: Option<Timestamp> = annotations.get(CREATED).and_then(|text| text.trim().parse().ok());
        let details = CommitDetails {
            id: digest.to_string(),
            author: text(AUTHORS),
            subject: subject.unwrap_or_default(),
            committed_at: created.unwrap_or_default().max(Timestamp::from_millis(0)),
        };
        Self { digest, archive, details, files }
    }
}

impl ArtifactFiles {
    /// What its manifest says about it. What it does not say is empty, and a missing time is 1970.
    pub fn details(&self) -> &CommitDetails {
        &self.details
    }

    /// The digest of its archive.
    pub fn archive(&self) -> &Digest {
        &self.archive
    }
}

impl FileTree for ArtifactFiles {
    /// The path.
    type Id = String;

    fn label(&self) -> String {
        format!("Artifact {}", domain::remote::short_commit(self.digest.as_str()))
    }

    fn root(&self) -> String {
        String::new()
    }

    fn list_entries(&self, folder: &String, _path: &str) -> Result<Vec<TreeEntry<String>>, GitError> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let below = self.files.keys().filter_map(|path| path.strip_prefix(&prefix));
        let mut folders = BTreeSet::new();
        let mut entries = Vec::new();
        for path in below {
            match path.split_once('/') {
                Some((name, _)) => drop(folders.insert(name)),
                None => entries.push(entry(folder, path, EntryKind::Blob)),
            }
        }
        entries.extend(folders.into_iter().map(|name| entry(folder, name, EntryKind::Tree)));
        Ok(entries)
    }

    fn read_file(&self, id: &String, path: &str) -> Result<Vec<u8>, GitError> {
        let missing = || {
            let message = format!("{} has no {:?}.", self.label(), shorten(path));
            GitError::new(GitErrorKind::NotFound, message, "Correct the path.")
        };
        let bytes = self.files.get(id).ok_or_else(missing)?;
        debug_assert!(bytes.len() <= MAX_FILE_BYTES, "the archive was read with this limit");
        Ok(bytes.clone())
    }
}

fn entry(folder: &str, name: &str, kind: EntryKind) -> TreeEntry<String> {
    TreeEntry { name: name.to_owned(), id: join(folder, name), kind, refusal: None }
}
