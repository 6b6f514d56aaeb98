//! The content of a commit at a path: manifests, a chart or a kustomization, as it is stored and rendered.

use std::collections::BTreeMap;
use std::fmt::Display;

use domain::remote::{GitContent, PinnedCommit};
use domain::{Digest, workload::SourceFile};
use gix_object::tree::EntryKind;

use super::error::{GitError, GitErrorKind};
use super::kustomization::{KUSTOMIZATION_FILES, read_kustomization};
use super::pack::CommitDetails;
use super::tree::{EntryUse, FileTree, PathContent, TreeEntry, join};
use crate::archive::{ChartArchive, HELM_IGNORE, HelmIgnoreRules, MAX_ARCHIVE_BYTES};

/// The content of a commit at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GitSnapshot {
    /// Git's id of the tree or file at the path; the path itself in an artifact.
    pub tree: String,
    /// The content.
    pub content: SnapshotContent,
}

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SnapshotContent {
    /// The files with Kubernetes objects, by name.
    Manifests(Vec<SourceFile>),
    /// A chart, packed, and the number of its files.
    Chart(Vec<u8>, usize),
    /// The files of a kustomization and of the folders that it refers to, by their path in the repository.
    Kustomize(BTreeMap<String, Vec<u8>>),
}

impl GitSnapshot {
    /// Reads what is at a path of a commit or an artifact. It blocks: call it off the async threads.
    ///
    /// # Errors
    /// There is no such path, or its content is refused, with the entry named.
    pub fn read<T: FileTree<Id: Display>>(commit: &T, path: &str) -> Result<Self, GitError> {
        let found = commit.find_path(path)?;
        let tree = found.id().to_string();
        let content = match found {
            PathContent::File { id, name } => {
                if !is_manifest(&name) {
                    return Err(GitError::rejected(
                        path,
                        "is no YAML or JSON file",
                        "Name a folder, or a file *.yaml, *.yml or *.json.",
                    ));
                }
                SnapshotContent::Manifests(vec![to_file(name, commit.read_file(&id, path)?)?])
            }
            PathContent::Folder(folder) => {
                let entries = commit.list_entries(&folder, path)?;
                let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
                if names.contains(&"Chart.yaml") {
                    let rules = read_ignore_rules(commit, &entries, path)?;
                    let files = commit.read_folder(&folder, path, |file, is_folder| {
                        if rules.is_ignored(file, is_folder) { EntryUse::Ignore } else { EntryUse::Read }
                    })?;
                    let count = files.len();
                    SnapshotContent::Chart(pack_chart(files)?, count)
                } else if names.iter().any(|name| KUSTOMIZATION_FILES.contains(name)) {
                    SnapshotContent::Kustomize(read_kustomization(commit, path)?)
                } else {
                    let files = commit.read_folder(&folder, path, select_manifest)?;
                    SnapshotContent::Manifests(to_files(files, path)?)
                }
            }
        };
        Ok(Self { tree, content })
    }

    /// What a source pins, and the bytes that are stored for it. `rendered` are the files of a kustomization.
    ///
    /// # Errors
    /// A kustomization is not rendered.
    pub fn into_pinned(
        self,
        details: &CommitDetails,
        rendered: Option<Vec<SourceFile>>,
    ) -> Result<(PinnedCommit, Vec<u8>), GitError> {
        let failed =
            |error: serde_json::Error| GitError::invalid(format!("The files can't be stored: {error}."));
        let (content, files, bytes) = match (self.content, rendered) {
            (SnapshotContent::Manifests(files), _) => {
                (GitContent::Manifests, files.len(), serde_json::to_vec(&files).map_err(failed)?)
            }
            (SnapshotContent::Chart(bytes, files), _) => (GitContent::Chart, files, bytes),
            (SnapshotContent::Kustomize(files), Some(rendered)) => {
                (GitContent::Kustomize, files.len(), serde_json::to_vec(&rendered).map_err(failed)?)
            }
            (SnapshotContent::Kustomize(_), None) => {
                return Err(GitError::new(
                    GitErrorKind::RejectedContent,
                    "The kustomization was not rendered.",
                    "Try again.",
                ));
            }
        };
        let pinned = PinnedCommit {
            commit: details.id.clone(),
            tree: self.tree,
            digest: Digest::compute(&bytes),
            content,
            files: u32::try_from(files).unwrap_or(u32::MAX),
            author: details.author.clone(),
            subject: details.subject.clone(),
            committed_at: details.committed_at,
        };
        Ok((pinned, bytes))
    }
}

/// The rules of a chart's own `.helmignore`, which Helm applies to a folder.
fn read_ignore_rules<T: FileTree>(
    commit: &T,
    entries: &[TreeEntry<T::Id>],
    path: &str,
) -> Result<HelmIgnoreRules, GitError> {
    let is_rules = |entry: &&TreeEntry<T::Id>| {
        entry.name == HELM_IGNORE && matches!(entry.kind, EntryKind::Blob | EntryKind::BlobExecutable)
    };
    let full = join(path, HELM_IGNORE);
    let text = match entries.iter().find(is_rules) {
        Some(entry) => commit.read_file(&entry.id, &full)?,
        None => Vec::new(),
    };
    let rules = HelmIgnoreRules::parse(&String::from_utf8_lossy(&text));
    rules.map_err(|why| {
        GitError::rejected(&full, &format!("is refused by Helm, {why}"), "Correct the rule, or remove it.")
    })
}

/// Files with the ending of manifests are read, hidden ones are not: those of tools, such as workflows of the forge.
fn select_manifest(path: &str, is_folder: bool) -> EntryUse {
    if path.rsplit('/').next().is_some_and(|name| name.starts_with('.')) {
        EntryUse::Ignore
    } else if is_folder || is_manifest(path) {
        EntryUse::Read
    } else {
        EntryUse::Skip
    }
}

fn is_manifest(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    [".yaml", ".yml", ".json"].iter().any(|end| name.ends_with(end))
}

fn to_file(name: String, bytes: Vec<u8>) -> Result<SourceFile, GitError> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SourceFile { name, text }),
        Err(_) => Err(GitError::rejected(&name, "is not UTF-8", "Store it as UTF-8.")),
    }
}

fn to_files(files: BTreeMap<String, Vec<u8>>, path: &str) -> Result<Vec<SourceFile>, GitError> {
    if files.is_empty() {
        let place = if path.is_empty() { "The repository".to_owned() } else { format!("The path {path:?}") };
        return Err(GitError::new(
            GitErrorKind::RejectedContent,
            format!(
                "{place} contains no manifests: no *.yaml, *.yml or *.json file, no Chart.yaml and no kustomization.yaml."
            ),
            "Correct the path; to remove what runs, unpublish the workload.",
        ));
    }
    files.into_iter().map(|(name, bytes)| to_file(name, bytes)).collect()
}

fn pack_chart(files: BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, GitError> {
    let rejected = |message: String| {
        GitError::new(GitErrorKind::RejectedContent, message, "Correct the chart in the repository.")
    };
    let chart =
        ChartArchive::from_files(files).map_err(|why| rejected(format!("The chart is refused: {why}")))?;
    let packed = chart.pack().map_err(|error| rejected(format!("The chart can't be packed: {error}.")))?;
    if packed.len() > MAX_ARCHIVE_BYTES {
        return Err(rejected(format!(
            "The packed chart has {} bytes; at most {MAX_ARCHIVE_BYTES} are allowed.",
            packed.len()
        )));
    }
    // As an upload: Helm reads nothing that this has not accepted.
    ChartArchive::read(&packed).map_err(|why| rejected(format!("The chart is refused: {why}")))?;
    Ok(packed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::git::ArtifactFiles;
    use crate::repository::FetchedArtifact;

    fn read_chart(ignore: &str) -> Result<Vec<String>, GitError> {
        let files = [
            ("Chart.yaml", "apiVersion: v2\nname: web\nversion: 1.0.0\n"),
            (HELM_IGNORE, ignore),
            ("charts/kit.tgz", "no archive"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
        let artifact = ArtifactFiles::from(FetchedArtifact {
            digest: Digest::compute(b"manifest"),
            archive: Digest::compute(b"archive"),
            annotations: BTreeMap::new(),
            files: files.into(),
        });
        match GitSnapshot::read(&artifact, "")?.content {
            SnapshotContent::Chart(packed, _) => {
                let files = crate::archive::read_files(&packed).unwrap();
                Ok(files.into_keys().collect())
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_packed_subchart_is_read_unless_helmignore_leaves_it_out() {
        let error = read_chart("*.orig\n").unwrap_err().to_string();
        assert_eq!(
            error,
            "The chart is refused: The archive is rejected: its entry \"charts/kit.tgz\" is no readable .tgz file: invalid gzip header."
        );
        assert_eq!(read_chart("charts/*.tgz\n").unwrap(), ["web/.helmignore", "web/Chart.yaml"]);
    }
}
