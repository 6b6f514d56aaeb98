//! The objects of one fetched commit: a pack in a folder of its own, which is removed with it. Nothing is checked out.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use domain::Timestamp;
use gix_hash::{Kind as HashKind, ObjectId};
use gix_object::{CommitRefIter, Kind};
use gix_pack::Bundle;
use gix_utils::progress::Discard;

use super::error::{GitError, GitErrorKind, shorten};
use super::pack_size::{MAX_COMMIT_BYTES, MAX_OBJECT_BYTES, MAX_TREE_BYTES};
use crate::client_shares::ClientReservation;
use crate::scratch::ScratchFolder;

/// Most parents of a commit.
const MAX_PARENTS: usize = 256;
/// Most commits of a history.
const MAX_ANCESTORS: usize = 20_000;
/// How long the commits of a history may take to be read.
const ANCESTORS_TIME: Duration = Duration::from_secs(10);
/// Latest time that is shown, in seconds: the end of the year 9999.
const MAX_SECONDS: i64 = 253_402_300_799;
/// How long the objects of a pack may take to be indexed.
const INDEX_TIME: Duration = Duration::from_secs(60);

/// What a commit says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDetails {
    /// The commit, 40 hex digits.
    pub id: String,
    /// Name of the author.
    pub author: String,
    /// First line of the message.
    pub subject: String,
    /// When it was committed.
    pub committed_at: Timestamp,
}

/// The objects of one commit.
pub struct CommitObjects {
    bundle: Bundle,
    /// The commit as it is stored, which its signature is for.
    raw: Vec<u8>,
    details: CommitDetails,
    tree: ObjectId,
    /// Removed when it is dropped.
    _folder: tempfile::TempDir,
    /// The memory that indexing and reading need.
    _memory: ClientReservation,
}

impl std::fmt::Debug for CommitObjects {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitObjects").field("details", &self.details).finish_non_exhaustive()
    }
}

fn invalid(error: &gix_error::Error) -> GitError {
    GitError::new(
        GitErrorKind::InvalidResponse,
        format!("The pack of the repository can't be read: {}.", shorten(&error.to_string())),
        "Check the repository with `git fsck`; large objects exceed the limits of the server.",
    )
}

fn io_error(error: &std::io::Error) -> GitError {
    // The error itself may contain a path of the server.
    tracing::error!(%error, "a pack could not be stored");
    GitError::new(
        GitErrorKind::Unreachable,
        format!("The pack of the repository could not be stored: {}.", error.kind()),
        "Check the disk of the server.",
    )
}

impl CommitObjects {
    /// Indexes a pack, which verifies the checksum of every object, and reads the commit. `memory` is what was measured for the pack
    /// ([`super::pack_size`]). It blocks: call it off the async threads.
    ///
    /// # Errors
    /// The pack is damaged or too large, or does not contain the commit.
    pub(super) fn read(
        pack: &[u8],
        commit: &str,
        scratch: &ScratchFolder,
        memory: ClientReservation,
    ) -> Result<Self, GitError> {
        let folder = scratch.create_folder("git-").map_err(|e| io_error(&e))?;
        let interrupt = Arc::new(AtomicBool::new(false));
        let _timer = InterruptTimer::start(interrupt.clone());
        let options = gix_pack::bundle::write::Options {
            thread_limit: Some(1),
            alloc_limit_bytes: Some(MAX_OBJECT_BYTES),
            ..gix_pack::bundle::write::Options::default()
        };
        let written = Bundle::write_to_directory(
            &mut std::io::Cursor::new(pack),
            Some(folder.path()),
            &mut Discard,
            &interrupt,
            None::<gix_object::find::Never>,
            HashKind::Sha1,
            options,
        );
        let written = written.map_err(|error| invalid(&error))?;
        let empty = || GitError::invalid("The pack of the repository is empty.");
        let mut bundle = written.to_bundle().ok_or_else(empty)?.map_err(|error| invalid(&error))?;
        bundle.pack.alloc_limit_bytes = Some(MAX_OBJECT_BYTES);
        let id = ObjectId::from_hex(commit.as_bytes()).map_err(|_| empty())?;
        let raw = find(&bundle, id, Kind::Commit)?;
        list_parents(id, &raw)?;
        let (details, tree) = read_details(commit, &raw)?;
        Ok(Self { bundle, raw, details, tree, _folder: folder, _memory: memory })
    }

    /// What the commit says about itself.
    pub fn details(&self) -> &CommitDetails {
        &self.details
    }

    /// The commit as it is stored.
    pub fn raw(&self) -> &[u8] {
        &self.raw
    }

    /// How many commits of this history `base` does not have; `None` if it is not among the fetched ones.
    pub(super) fn count_ahead_of(&self, base: &str) -> Result<Option<u32>, GitError> {
        self.count_ahead_within(base, ANCESTORS_TIME)
    }

    /// The same, with so much time for each of both histories.
    fn count_ahead_within(&self, base: &str, limit: Duration) -> Result<Option<u32>, GitError> {
        let parse = |id: &str| {
            ObjectId::from_hex(id.as_bytes()).map_err(|_| GitError::invalid("A commit has no valid id."))
        };
        let (tip, base) = (parse(&self.details.id)?, parse(base)?);
        let all = self.list_ancestors(tip, limit)?;
        if !all.contains(&base) {
            return Ok(None);
        }
        let known = self.list_ancestors(base, limit)?;
        Ok(Some(u32::try_from(all.difference(&known).count()).unwrap_or(u32::MAX)))
    }

    /// A commit and its ancestors, as far as they were fetched.
    fn list_ancestors(&self, from: ObjectId, limit: Duration) -> Result<HashSet<ObjectId>, GitError> {
        let began = Instant::now();
        let (mut found, mut pending) = (HashSet::new(), Vec::new());
        if self.has(from) {
            found.insert(from);
            pending.push(from);
        }
        while let Some(id) = pending.pop() {
            if began.elapsed() >= limit {
                let limit = limit.as_secs();
                return Err(long_history(format!("took longer than {limit} s to read")));
            }
            for parent in list_parents(id, &self.find(id, Kind::Commit)?)? {
                if self.has(parent) && found.insert(parent) {
                    pending.push(parent);
                }
            }
            if found.len() > MAX_ANCESTORS {
                return Err(long_history(format!("has more than {MAX_ANCESTORS} commits")));
            }
        }
        Ok(found)
    }

    /// The tree of its root.
    pub(super) fn tree(&self) -> ObjectId {
        self.tree
    }

    /// The bytes of an object.
    pub(super) fn find(&self, id: ObjectId, kind: Kind) -> Result<Vec<u8>, GitError> {
        find(&self.bundle, id, kind)
    }

    /// Whether the pack has an object: large blobs may have been left out.
    pub(super) fn has(&self, id: ObjectId) -> bool {
        self.bundle.index.lookup(id).is_some()
    }
}

/// The parents of a commit, which may have a limited number of them.
fn list_parents(id: ObjectId, raw: &[u8]) -> Result<Vec<ObjectId>, GitError> {
    let parents = CommitRefIter::from_bytes(raw, HashKind::Sha1).parent_ids();
    let parents: Vec<ObjectId> = parents.take(MAX_PARENTS + 1).collect();
    if parents.len() <= MAX_PARENTS {
        return Ok(parents);
    }
    let message =
        format!("Commit {id} of the repository has more than {MAX_PARENTS} parents, which is the limit.");
    Err(GitError::new(GitErrorKind::TooLarge, message, "Use a commit with fewer parents."))
}

/// How far a commit is ahead can't be counted. `reason` is the end of a sentence about its history.
fn long_history(reason: String) -> GitError {
    GitError::new(
        GitErrorKind::TooLarge,
        format!(
            "The history between two commits of the repository {reason}, so that they can't be compared."
        ),
        "Publish the commit by hand, or merge in smaller steps.",
    )
}

fn find(bundle: &Bundle, id: ObjectId, kind: Kind) -> Result<Vec<u8>, GitError> {
    let mut bytes = Vec::new();
    let mut inflate = gix_zlib::Inflate::default();
    let found = bundle
        .find(&id, &mut bytes, &mut inflate, &mut gix_pack::cache::Never)
        .map_err(|error| invalid(&error))?;
    match found.map(|(data, _)| data.kind) {
        Some(found) if found == kind => check_size(id, kind, bytes),
        Some(found) => Err(GitError::invalid(format!("{id} of the repository is a {found}, not a {kind}."))),
        None => Err(GitError::invalid(format!("The pack of the repository lacks the {kind} {id}."))),
    }
}

/// The bytes of an object, unless they are more than those of its kind may be: what is read of them would need many times as much.
fn check_size(id: ObjectId, kind: Kind, bytes: Vec<u8>) -> Result<Vec<u8>, GitError> {
    let limit = match kind {
        Kind::Commit => MAX_COMMIT_BYTES,
        Kind::Tree => MAX_TREE_BYTES,
        Kind::Blob | Kind::Tag => return Ok(bytes),
    };
    if bytes.len() as u64 <= limit {
        return Ok(bytes);
    }
    let message =
        format!("The {kind} {id} of the repository has {} bytes; at most {limit} are allowed.", bytes.len());
    Err(GitError::new(GitErrorKind::TooLarge, message, "Use a smaller commit or folder."))
}

fn read_details(id: &str, raw: &[u8]) -> Result<(CommitDetails, ObjectId), GitError> {
    let commit = || CommitRefIter::from_bytes(raw, HashKind::Sha1);
    let tree = commit().tree_id().map_err(|error| invalid(&error))?;
    let author = commit().author().map_err(|error| invalid(&error))?;
    let committed = commit().committer().map_err(|error| invalid(&error))?;
    let seconds = committed.time.split(' ').next().and_then(|seconds| seconds.parse::<i64>().ok());
    let message = commit().message().map_err(|error| invalid(&error))?;
    let message = String::from_utf8_lossy(message);
    let details = CommitDetails {
        id: id.to_owned(),
        author: shorten(String::from_utf8_lossy(author.name).trim()),
        subject: shorten(message.trim_start().lines().next().unwrap_or_default()),
        committed_at: Timestamp::from_millis(seconds.unwrap_or_default().clamp(0, MAX_SECONDS) * 1_000),
    };
    Ok((details, tree))
}

/// Sets a flag when the time is over, unless it is dropped before.
struct InterruptTimer {
    /// Ends the wait when it is dropped.
    _sender: std::sync::mpsc::Sender<()>,
}

impl InterruptTimer {
    fn start(flag: Arc<AtomicBool>) -> Self {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let waits = move || {
            if receiver.recv_timeout(INDEX_TIME) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
                flag.store(true, Ordering::Relaxed);
            }
        };
        // Without a thread the pack is still bounded by its size.
        let started = std::thread::Builder::new().name("git-timer".to_owned()).spawn(waits);
        if let Err(error) = started {
            tracing::warn!(%error, "the time of reading a pack is not limited");
        }
        Self { _sender: sender }
    }
}

#[cfg(test)]
mod tests;
