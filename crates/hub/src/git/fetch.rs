//! Fetches commits. The content of a commit at a path is fetched once and stored by its digest; from then on the repository is not
//! needed for it.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Display;

use domain::Finding;
use domain::release::Reason;
use domain::remote::{GitContent, PinnedCommit};
use domain::workload::SourceFile;
use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use source::git::{AllowedSigners, CommitDetails, FileTree, GitError, GitSnapshot, SnapshotContent};
use source::kustomize::KustomizeFailed;
use source::request_context::RequestContext;
use source::requester::current_turn;
use store::git::GitPath;

use super::{GitFetchKey, invalid_signers, not_read, rejected, to_failure, waiting};
use crate::blocking::run_blocking;
use crate::chart::RenderingFailure;
use crate::fair_queue::QueueKey;
use crate::fetch_queues::{acquire, describe_ended, fetch_key, run_while_needed};
use crate::manifests::{RenderWait, record_need};
use crate::{Error, Hub};

/// What a commit or an artifact says about itself, and what is at each path; or why it can't be read at all.
pub(super) type PathsRead =
    Result<(CommitDetails, Vec<(String, Result<GitSnapshot, GitError>)>), RenderingFailure>;

/// The content of a commit at each path, or why it can't be used.
pub(super) type FetchedPaths = HashMap<String, Result<PinnedCommit, RenderingFailure>>;

/// A fetch that runs; every requester awaits the same one.
pub(super) type SharedGitFetch = Shared<BoxFuture<'static, Result<PinnedCommit, RenderingFailure>>>;

impl Hub {
    /// What is stored about a commit at a path.
    pub(crate) async fn find_git_snapshot(
        &self,
        url: &str,
        path: &str,
        commit: &str,
    ) -> Result<Option<PinnedCommit>, Error> {
        let mut tx = self.read().await?;
        let at = GitPath { project: self.project(), url, path };
        Ok(store::git::get_snapshot(&mut tx, &at, commit).await?)
    }

    /// A commit at a path, fetched if it is not stored, and waits as long as the requester does. When the placer stops waiting,
    /// the workload is marked dirty once the fetch ends.
    pub(crate) async fn load_git_snapshot(
        &self,
        url: &str,
        path: &str,
        commit: &str,
        wait: RenderWait,
    ) -> Result<Result<PinnedCommit, RenderingFailure>, Error> {
        if let Some(stored) = self.find_git_snapshot(url, path, commit).await? {
            return Ok(Ok(stored));
        }
        let key = GitFetchKey {
            url: url.to_owned(),
            commit: commit.to_owned(),
            path: path.to_owned(),
            turn: current_turn(),
        };
        let fetch = self.start_git_fetch(key);
        if let Ok(fetched) = tokio::time::timeout(wait.limit(), fetch.clone()).await {
            return Ok(fetched);
        }
        if let RenderWait::Placer(workload) = wait {
            let hub = self.clone();
            tokio::spawn(async move {
                // A failure waits for the next check of the ref, so that it is not repeated at once.
                if fetch.await.is_ok() {
                    hub.mark_dirty_or_log(workload).await;
                }
            });
        }
        let message =
            format!("Commit {} of {url} is still being fetched.", domain::remote::short_commit(commit));
        Ok(Err(waiting(
            message,
            "Wait a moment and try again; the fetch goes on, unless other users wait for its place.",
        )))
    }

    /// Starts a fetch, or joins the one that runs.
    fn start_git_fetch(&self, key: GitFetchKey) -> SharedGitFetch {
        let mut running = self.git_reader().fetches.lock();
        if let Some(fetch) = running.get(&key) {
            return fetch.clone();
        }
        let (hub, task_key) = (self.clone(), key.clone());
        // A task of its own: a fetch goes on when its requester is gone.
        let task = RequestContext::current().with_own_wait().spawn(async move {
            let paths = std::slice::from_ref(&task_key.path);
            let is_awaited = || hub.is_fetch_awaited(&task_key);
            let fetched = hub.fetch_git_commit(&task_key.url, &task_key.commit, paths, is_awaited).await;
            hub.git_reader().fetches.lock().remove(&task_key);
            let missing = || waiting("The fetch of the commit has no result.", "It is tried again.");
            match fetched {
                Ok(mut by_path) => by_path.remove(&task_key.path).unwrap_or_else(|| Err(missing())),
                Err(error) => {
                    Err(waiting(format!("The commit could not be stored: {error}"), "It is tried again."))
                }
            }
        });
        let shared = async move {
            task.await.unwrap_or_else(|error| {
                tracing::error!(%error, "a fetch of a commit ended unexpectedly");
                Err(waiting(
                    "The fetch of the commit ended unexpectedly.",
                    "It is tried again; the log has the details.",
                ))
            })
        };
        let shared = shared.boxed().shared();
        running.insert(key, shared.clone());
        shared
    }

    /// Whether a request or the placer awaits a fetch.
    fn is_fetch_awaited(&self, key: &GitFetchKey) -> bool {
        let fetches = self.git_reader().fetches.lock();
        // One of them is in the map.
        fetches.get(key).and_then(Shared::strong_count).is_some_and(|count| count > 1)
    }

    /// Fetches a commit and stores its content at each of these paths. The result names every path. What is not awaited any more gives
    /// its place to other users.
    pub(super) async fn fetch_git_commit(
        &self,
        url: &str,
        commit: &str,
        paths: &[String],
        is_awaited: impl Fn() -> bool,
    ) -> Result<FetchedPaths, Error> {
        let for_all = |failure: &RenderingFailure| {
            Ok(paths.iter().map(|path| (path.clone(), Err(failure.clone()))).collect())
        };
        let place = match acquire(&self.fetch_queues().commits, url).await {
            Ok(place) => place,
            Err(message) => return for_all(&not_read(message)),
        };
        if let Some(stored) = self.find_all_snapshots(url, commit, paths).await? {
            return Ok(stored);
        }
        let reading = Box::pin(async {
            match domain::remote::is_oci_url(url) {
                true => self.read_artifact(url, commit, paths).await,
                false => self.read_commit(url, commit, paths).await,
            }
        });
        let queue = &self.fetch_queues().commits;
        let Some(read) = run_while_needed(queue, &fetch_key(url), is_awaited, reading).await else {
            return for_all(&not_read(describe_ended(url)));
        };
        let read = read?;
        // The next one is read while this one is rendered and stored.
        drop(place);
        let (details, read) = match read {
            Ok(read) => read,
            Err(failure) => return for_all(&failure),
        };
        let mut results = HashMap::new();
        for (path, snapshot) in read {
            let pinned = match snapshot {
                Ok(snapshot) => self.pin_snapshot(&details, snapshot, &path, url).await,
                Err(error) => Err(to_failure(error, url)),
            };
            let stored = match pinned {
                Ok((pinned, bytes)) => Ok(self.store_git_snapshot(url, &path, pinned, &bytes).await?),
                Err(failure) => Err(failure),
            };
            results.insert(path, stored);
        }
        Ok(results)
    }

    /// What is stored about a commit at these paths, because it was fetched for another user meanwhile; `None` unless that is everything.
    async fn find_all_snapshots(
        &self,
        url: &str,
        commit: &str,
        paths: &[String],
    ) -> Result<Option<FetchedPaths>, Error> {
        let mut found = HashMap::new();
        for path in paths {
            let Some(stored) = self.find_git_snapshot(url, path, commit).await? else { return Ok(None) };
            found.insert(path.clone(), Ok(stored));
        }
        Ok(Some(found))
    }

    /// A commit of a Git repository at each of these paths.
    async fn read_commit(&self, url: &str, commit: &str, paths: &[String]) -> Result<PathsRead, Error> {
        let client = match self.git_client() {
            Ok(client) => client,
            Err(failure) => return Ok(Err(failure)),
        };
        let (remote, repository) = match self.find_git_remote(url).await? {
            Ok(found) => found,
            Err(failure) => return Ok(Err(failure)),
        };
        let objects = match client.fetch_commit(&remote, commit).await {
            Ok(objects) => objects,
            Err(error) => return Ok(Err(to_failure(error, url))),
        };
        let signers = repository.as_ref().map_or("", |row| &row.allowed_signers);
        // Keys that can't be read any more accept nothing.
        let verified = match AllowedSigners::parse(signers) {
            Ok(signers) => signers.verify(&objects).map_err(|error| to_failure(error, url)),
            Err(invalid) => Err(rejected(invalid_signers(&invalid))),
        };
        if let Err(failure) = verified {
            return Ok(Err(failure));
        }
        let details = objects.details().clone();
        Ok(Ok((details, read_paths(objects, paths).await?)))
    }

    /// What a source pins for a path, with the bytes that are stored; a kustomization is rendered.
    async fn pin_snapshot(
        &self,
        details: &CommitDetails,
        snapshot: GitSnapshot,
        path: &str,
        url: &str,
    ) -> Result<(PinnedCommit, Vec<u8>), RenderingFailure> {
        let rendered = match &snapshot.content {
            SnapshotContent::Kustomize(files) => {
                Some(self.render_kustomization(files.clone(), path, url).await?)
            }
            SnapshotContent::Manifests(_) | SnapshotContent::Chart(..) => None,
        };
        snapshot.into_pinned(details, rendered).map_err(|error| to_failure(error, url))
    }

    async fn render_kustomization(
        &self,
        files: BTreeMap<String, Vec<u8>>,
        path: &str,
        url: &str,
    ) -> Result<Vec<SourceFile>, RenderingFailure> {
        let Some(kustomize) = self.git_reader().kustomize.get() else {
            return Err(waiting(
                "Kustomize is not available on the server, so kustomizations can't be rendered.",
                "Install kustomize 5.4 or newer on the server, or set --kustomize; `cargo xtask setup` installs it.",
            ));
        };
        let place = self.chart_renderer().queue().acquire(&QueueKey::new(current_turn(), url)).await;
        let _place = place.map_err(|full| {
            waiting(format!("The kustomization is not rendered now, because {full}."), "It is tried again.")
        })?;
        kustomize.build(files, path).await.map_err(|failed| {
            let KustomizeFailed { message, hint, is_temporary } = failed;
            match is_temporary {
                true => waiting(message, hint),
                false => rejected(Finding::error("G121", message, hint).with_path("/source/path")),
            }
        })
    }

    /// Stores what was fetched of a commit at a path.
    pub(crate) async fn store_git_snapshot(
        &self,
        url: &str,
        path: &str,
        pinned: PinnedCommit,
        bytes: &[u8],
    ) -> Result<PinnedCommit, Error> {
        let now = self.clock().now();
        let mut tx = self.write().await?;
        store::artifact::put(&mut tx, &pinned.digest, bytes, now).await?;
        let at = GitPath { project: self.project(), url, path };
        store::git::put_snapshot(&mut tx, &at, &pinned, now).await?;
        tx.commit().await?;
        if pinned.content != GitContent::Chart {
            record_need(&pinned.digest, bytes);
        }
        Ok(pinned)
    }
}

/// What is at each of these paths.
pub(super) async fn read_paths<T: FileTree<Id: Display> + Send + 'static>(
    tree: T,
    paths: &[String],
) -> Result<Vec<(String, Result<GitSnapshot, GitError>)>, Error> {
    let paths = paths.to_vec();
    run_blocking(move || {
        let read = |path: String| (path.clone(), GitSnapshot::read(&tree, &path));
        paths.into_iter().map(read).collect()
    })
    .await
}

/// The stored content is not the one that a revision names.
pub(crate) fn mismatch(url: &str, pinned: &PinnedCommit, stored: &PinnedCommit) -> RenderingFailure {
    let message = format!(
        "Commit {} of {url} was published with the content {}, but it is now read as {}.",
        pinned.short(),
        pinned.digest.short(),
        stored.digest.short()
    );
    let hint = "Check the workload and publish it again.";
    RenderingFailure {
        findings: vec![Finding::error("G121", message, hint).with_path("/source/repository")],
        reason: Reason::HashMismatch,
    }
}
