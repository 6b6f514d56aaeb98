//! Sources in Git and in registries: the commit of a ref (for an OCI artifact the manifest of a tag) is pinned in the draft, its content
//! is stored, and a moved ref reaches the workloads that follow it. What was fetched is used without the repository; a failed read changes nothing that runs.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use domain::Finding;
use domain::git_repository::GitCredentials;
use domain::release::Reason;
use domain::ssh_url::is_ssh_url;
use parking_lot::Mutex;
use source::git::{
    GitClient, GitError, GitRemote, InvalidGitRemote, InvalidSigner, InvalidSshCredentials, SshCredentials,
};
use source::kustomize::Kustomize;
use store::git::GitRefRow;
use store::git_repository::GitRepositoryRow;

use crate::chart::RenderingFailure;
use crate::fair_queue::QueuePlace;
use crate::fetch_queues::{acquire, acquire_within};
use crate::{Error, Hub};

mod artifact;
mod fetch;
mod follow;
mod pin;
mod poll;
mod status;

use fetch::SharedGitFetch;
pub(crate) use fetch::mismatch;
pub(crate) use pin::{adopt_pin, keep_pin};
pub(crate) use poll::RefChecks;

/// How long a list of refs may take within a request, and how long it may wait for its turn before that.
const RESOLVE_WAIT: Duration = Duration::from_secs(20);

/// A commit at a path of a repository, fetched in the turn of a user: nobody waits in the turns of another one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct GitFetchKey {
    url: String,
    commit: String,
    path: String,
    turn: String,
}

/// Reads Git repositories on this server.
#[derive(Default)]
pub(crate) struct GitReader {
    /// The client, once it is set.
    client: OnceLock<GitClient>,
    /// The program that renders kustomizations, once it was found.
    kustomize: OnceLock<Kustomize>,
    fetches: Mutex<HashMap<GitFetchKey, SharedGitFetch>>,
    /// Pause between two checks of a ref, in milliseconds, if it is not the usual one.
    check_millis: OnceLock<i64>,
    /// Held while a ref is checked.
    ref_locks: Mutex<HashMap<RefKey, Arc<tokio::sync::Mutex<()>>>>,
}

/// URL and name of a ref.
type RefKey = (String, String);

impl GitReader {
    fn ref_lock(&self, row: &GitRefRow) -> Arc<tokio::sync::Mutex<()>> {
        let key = (row.url.clone(), row.reference.clone());
        self.ref_locks.lock().entry(key).or_default().clone()
    }

    fn remove_ref_lock(&self, row: &GitRefRow) {
        self.ref_locks.lock().remove(&(row.url.clone(), row.reference.clone()));
    }
}

impl Hub {
    /// How many commits a commit is ahead of another one; `None` if the other one is not among its last ancestors.
    async fn count_commits_ahead(
        &self,
        url: &str,
        tip: &str,
        base: &str,
    ) -> Result<Result<Option<u32>, RenderingFailure>, Error> {
        let client = match self.git_client() {
            Ok(client) => client,
            Err(failure) => return Ok(Err(failure)),
        };
        let remote = match self.find_git_remote(url).await? {
            Ok((remote, _)) => remote,
            Err(failure) => return Ok(Err(failure)),
        };
        let _place = match acquire(&self.fetch_queues().commits, url).await {
            Ok(place) => place,
            Err(message) => return Ok(Err(not_read(message))),
        };
        let counted = client.count_commits_ahead(&remote, tip, base).await;
        Ok(counted.map_err(|error| to_failure(error, url)))
    }

    /// Sets the client that reads Git repositories. Without one, only commits that are stored can be used.
    pub fn set_git_client(&self, client: GitClient) {
        if self.git_reader().client.set(client).is_err() {
            tracing::warn!("the client for Git was set before; the first one is used");
        }
    }

    /// Sets the program that renders kustomizations. Without one, sources with a kustomization wait and everything else works.
    pub fn set_kustomize(&self, kustomize: Kustomize) {
        if self.git_reader().kustomize.set(kustomize).is_err() {
            tracing::warn!("kustomize was set before; the first one is used");
        }
    }

    /// The version of kustomize; `None` if it is not available.
    pub fn kustomize_version(&self) -> Option<&str> {
        self.git_reader().kustomize.get().map(Kustomize::version)
    }

    /// Sets how often a ref is checked.
    pub fn set_git_check_interval(&self, interval: Duration) {
        let millis = i64::try_from(interval.as_millis()).unwrap_or(i64::MAX);
        if self.git_reader().check_millis.set(millis).is_err() {
            tracing::warn!("the interval of the checks of Git was set before; the first one is used");
        }
    }

    fn git_client(&self) -> Result<&GitClient, RenderingFailure> {
        self.git_reader().client.get().ok_or_else(|| {
            waiting(
                "This server can't read Git repositories.",
                "Start it without --git-repositories off, with trusted root certificates.",
            )
        })
    }

    /// The repository with this URL in any spelling, with its credentials and settings if the project has it.
    async fn find_git_remote(
        &self,
        url: &str,
    ) -> Result<Result<(GitRemote, Option<GitRepositoryRow>), RenderingFailure>, Error> {
        let mut tx = self.read().await?;
        let rows = store::git_repository::list(&mut tx, self.project()).await?;
        drop(tx);
        let found = choose_repository(rows, url).and_then(|row| Ok((to_remote(url, row.as_ref())?, row)));
        Ok(found.map_err(rejected))
    }

    /// The commit of a ref now; for an OCI artifact the digest of the manifest of a tag.
    async fn resolve_ref(
        &self,
        url: &str,
        reference: &str,
    ) -> Result<Result<String, RenderingFailure>, Error> {
        match self.acquire_ref_place(url).await {
            Ok(place) => self.resolve_ref_in_turn(url, reference, place).await,
            Err(message) => Ok(Err(not_read(message))),
        }
    }

    /// A place to read a ref, or why there is none within the time of a request.
    async fn acquire_ref_place(&self, url: &str) -> Result<QueuePlace, String> {
        acquire_within(&self.fetch_queues().refs, url, RESOLVE_WAIT).await
    }

    /// The same as [`Self::resolve_ref`] with this place.
    async fn resolve_ref_in_turn(
        &self,
        url: &str,
        reference: &str,
        place: QueuePlace,
    ) -> Result<Result<String, RenderingFailure>, Error> {
        if domain::remote::is_oci_url(url) {
            return self.resolve_artifact_tag(url, reference, place).await;
        }
        let client = match self.git_client() {
            Ok(client) => client,
            Err(failure) => return Ok(Err(failure)),
        };
        let remote = match self.find_git_remote(url).await? {
            Ok((remote, _)) => remote,
            Err(failure) => return Ok(Err(failure)),
        };
        let resolved = read_refs(url, place, Box::pin(client.resolve_ref(&remote, reference))).await;
        Ok(resolved.and_then(|resolved| match resolved {
            Ok(found) => Ok(found.commit),
            Err(error) => Err(to_failure(error, url)),
        }))
    }
}

/// Reads refs or tags at this place, and no longer than a request may take.
async fn read_refs<T>(
    url: &str,
    place: QueuePlace,
    request: impl Future<Output = T> + Send,
) -> Result<T, RenderingFailure> {
    let read = tokio::time::timeout(RESOLVE_WAIT, request).await;
    drop(place);
    read.map_err(|_| {
        waiting(
            format!("{url} did not respond within {} s.", RESOLVE_WAIT.as_secs()),
            "Check the address of the repository. It is tried again.",
        )
    })
}

/// The repository with this URL in any spelling. Earlier releases accepted several: none of them decides which credentials are sent and
/// which signatures are required.
fn choose_repository(rows: Vec<GitRepositoryRow>, url: &str) -> Result<Option<GitRepositoryRow>, Finding> {
    let key = identity(url);
    let mut matching = rows.into_iter().filter(|row| key.is_some() && identity(&row.url) == key);
    match (matching.next(), matching.next()) {
        (Some(first), Some(second)) => {
            let message = format!(
                "Git repositories {:?} and {:?} both have the URL {url}, so its credentials and allowed signers are not known.",
                first.name, second.name
            );
            let hint = "Remove one of them: flotilla git repo remove NAME, or page Charts.";
            Err(Finding::error("G121", message, hint).with_path("/source/repository"))
        }
        (found, _) => Ok(found),
    }
}

/// The URL without what two spellings of the same repository may differ in; `None` if it is not valid.
pub(crate) fn identity(url: &str) -> Option<String> {
    GitRemote::new(url, None).ok().map(|remote| remote.identity())
}

/// A line of the allowed signers is not usable.
pub(crate) fn invalid_signers(error: &InvalidSigner) -> Finding {
    let hint = "Write SSH public keys, one a line: ssh-ed25519 AAAA… name.";
    Finding::error("G121", error.to_string(), hint).with_path("/allowedSigners")
}

/// The repository with its credentials.
pub(crate) fn to_remote(url: &str, row: Option<&GitRepositoryRow>) -> Result<GitRemote, Finding> {
    let credentials = row.and_then(|row| row.credentials.as_ref());
    let invalid = |error: InvalidGitRemote| {
        let hint = "Write https://host/path, ssh://git@host/path or git@host:path of the repository.";
        Finding::error("G121", error.to_string(), hint).with_path("/source/repository")
    };
    if is_ssh_url(url) {
        let remote = GitRemote::new(url, None).map_err(invalid)?;
        return match credentials {
            Some(credentials) => {
                let key = to_ssh_credentials(credentials)
                    .map_err(|error| invalid_key(&error).with_path("/source/repository"))?;
                remote.with_ssh_credentials(key).map_err(invalid)
            }
            None => Ok(remote),
        };
    }
    let login = credentials.map(|login| (login.user_name.as_str(), login.password.as_str()));
    GitRemote::new(url, login).map_err(invalid)
}

/// The private key and the known hosts.
pub(crate) fn to_ssh_credentials(stored: &GitCredentials) -> Result<SshCredentials, InvalidSshCredentials> {
    SshCredentials::new(&stored.private_key, &stored.known_hosts)
}

/// A private key or known hosts can't be used.
pub(crate) fn invalid_key(error: &InvalidSshCredentials) -> Finding {
    Finding::error("G121", error.to_string(), error.hint).with_path(format!("/credentials/{}", error.field))
}

/// It may succeed later.
fn waiting(message: impl Into<String>, hint: impl Into<String>) -> RenderingFailure {
    let finding = Finding::error("G122", message, hint).with_path("/source/repository");
    RenderingFailure { findings: vec![finding], reason: Reason::WaitingForArtifact }
}

/// It had no turn.
fn not_read(message: String) -> RenderingFailure {
    waiting(message, "It is tried again.")
}

/// The commit of a draft is not known.
pub(crate) fn unpinned() -> RenderingFailure {
    waiting(
        "The commit of the source is not known yet.",
        "It is set when the repository can be read; check it now, or correct URL, ref and credentials.",
    )
}

/// It fails until somebody changes something.
fn rejected(finding: Finding) -> RenderingFailure {
    RenderingFailure { findings: vec![finding], reason: Reason::RenderFailed }
}

fn to_failure(error: GitError, url: &str) -> RenderingFailure {
    let GitError { kind, message, hint } = error;
    let message = format!("{url} can't be used: {message}");
    if kind.is_temporary() {
        return waiting(message, format!("{hint} It is tried again."));
    }
    rejected(Finding::error("G121", message, hint).with_path("/source/path"))
}

/// The first finding of a failure as text.
fn describe(failure: &RenderingFailure) -> (String, String) {
    let first = failure.findings.first();
    first.map(|found| (found.message.clone(), found.hint.clone())).unwrap_or_default()
}
