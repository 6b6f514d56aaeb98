//! Git repositories over HTTPS and SSH: the commit of a ref, and the files of a commit at a path.
//!
//! A repository is a server that a user chose. Every request goes through [`egress`], which decides by the connected address and
//! binds credentials to their origin; over SSH it decides the address that the program `ssh` connects to ([`ssh`]). Only two commands of
//! version 2 of the Git protocol are sent ([`protocol`]): the list of refs, and one commit without its history. The pack is bounded, and so is what its objects need in memory ([`pack_size`]). It is indexed in a
//! folder of its own, and never checked out: the files at the path are read into a bounded map ([`tree`]), and links, submodules and
//! pointers to Git LFS refuse it.

use std::time::Duration;

use domain::ssh_url::SshUrl;
use egress::header::{HeaderMap, HeaderName, HeaderValue};
use egress::{
    Credentials, EgressClient, EgressOptions, EgressPolicy, EgressUnavailable, FetchRequest, MinimumRate,
    PostBody, ResponseStream, Url,
};

use crate::RemoteAccess;
use crate::client_shares::{ClientReservation, FILES_OF_USERS, PACKS_OF_USERS};
use crate::requester::current_turn;
use crate::reserved_body::read_reserved;
use crate::scratch::ScratchFolder;

mod artifact;
mod error;
mod kustomization;
mod pack;
mod pack_size;
mod protocol;
mod remote;
mod signature;
mod snapshot;
mod ssh;
#[cfg(test)]
mod test_pack;
mod tree;

pub use artifact::ArtifactFiles;
pub use error::{GitError, GitErrorKind};
pub use pack::{CommitDetails, CommitObjects};
use pack_size::measure_pack;
pub use protocol::GitRef;
use protocol::{Capabilities, parse_pack, parse_refs};
use remote::RemoteAddress;
pub use remote::{GitRemote, InvalidGitRemote};
pub use signature::{AllowedSigners, InvalidSigner};
pub use snapshot::{GitSnapshot, SnapshotContent};
use ssh::SshSession;
pub use ssh::{InvalidSshCredentials, SshCredentials, SshProgram};
pub use tree::{FileTree, MAX_FILE_BYTES, MAX_FILES, MAX_TOTAL_BYTES};

/// Largest pack of one commit, in bytes.
pub const MAX_PACK_BYTES: usize = 64 << 20;
/// Largest list of refs, in bytes.
const MAX_REFS_BYTES: usize = 2 << 20;
/// Media type of the response to a command.
const RESULT_TYPE: &str = "application/x-git-upload-pack-result";
/// Redirects that are followed to the repository.
const MAX_REDIRECTS: usize = 3;

/// Reads Git repositories. Clones share connections.
#[derive(Debug, Clone)]
pub struct GitClient {
    egress: EgressClient,
    policy: EgressPolicy,
    scratch: ScratchFolder,
    /// The program for repositories over SSH; `None` if there is none.
    ssh: Option<SshProgram>,
}

/// A server that has responded, after its redirects.
struct GitSession<'a> {
    /// The URL of the repository that the commands are sent to.
    base: Url,
    policy: EgressPolicy,
    credentials: Option<&'a Credentials>,
    capabilities: Capabilities,
}

impl GitClient {
    /// A client without connections. Fetched objects are below `scratch` until they are read.
    ///
    /// # Errors
    /// There are no trusted root certificates.
    pub fn new(access: RemoteAccess, scratch: ScratchFolder) -> Result<Self, EgressUnavailable> {
        let egress = EgressClient::new(EgressOptions {
            // Some servers respond to clients of Git only.
            user_agent: concat!("git/2 (flotilla/", env!("CARGO_PKG_VERSION"), ")"),
            connect_timeout: Duration::from_secs(10),
            read_timeout: Duration::from_secs(30),
            // Some servers compute a pack while they respond.
            minimum_rate: MinimumRate::COMPUTED,
            timeout: Duration::from_secs(120),
        })?;
        Ok(Self { egress, policy: access.policy(), scratch, ssh: None })
    }

    /// The same client, which reads repositories over SSH with this program.
    #[must_use]
    pub fn with_ssh(self, ssh: Option<SshProgram>) -> Self {
        Self { ssh, ..self }
    }

    /// The commit that a branch or a tag refers to now; of the default branch if `reference` is empty. No object is fetched.
    ///
    /// # Errors
    /// The repository can't be read, or has no such ref.
    pub async fn resolve_ref(&self, remote: &GitRemote, reference: &str) -> Result<GitRef, GitError> {
        let names = list_candidates(reference);
        let listed = self.list_refs(remote, &names).await;
        let mut found = parse_refs(&listed.map_err(explain_long_list)?, &names)?;
        match found.len() {
            0 => Err(missing_ref(reference)),
            1 => Ok(found.remove(0)),
            _ => Err(GitError::new(
                GitErrorKind::NotFound,
                format!("{reference:?} is both a branch and a tag of the repository."),
                format!("Write refs/heads/{reference} or refs/tags/{reference}."),
            )),
        }
    }

    /// Fetches one commit without its history.
    ///
    /// # Errors
    /// The repository can't be read or does not have the commit, or its pack exceeds the limits.
    pub async fn fetch_commit(&self, remote: &GitRemote, commit: &str) -> Result<CommitObjects, GitError> {
        let body = self.fetch(remote, |server| server.encode_fetch(commit)).await?;
        self.read_objects(body, commit).await
    }

    /// How many commits `tip` has that `base` does not have; `None` if `base` is not among its last ancestors, because the history was
    /// rewritten or is longer than what is read.
    ///
    /// # Errors
    /// As [`Self::fetch_commit`].
    pub async fn count_commits_ahead(
        &self,
        remote: &GitRemote,
        tip: &str,
        base: &str,
    ) -> Result<Option<u32>, GitError> {
        let body = self.fetch(remote, |server| server.encode_history(tip)).await?;
        let (objects, base) = (self.read_objects(body, tip).await?, base.to_owned());
        let counted = tokio::task::spawn_blocking(move || objects.count_ahead_of(&base));
        counted.await.map_err(|error| GitError::from_task(&error))?
    }

    /// Reads the pack of a response with this commit, once the memory that its objects need is free.
    async fn read_objects(
        &self,
        (body, received): (Vec<u8>, ClientReservation),
        commit: &str,
    ) -> Result<CommitObjects, GitError> {
        let measured = tokio::task::spawn_blocking(move || {
            let pack = parse_pack(body)?;
            let needed = measure_pack(&pack)?;
            Ok::<_, GitError>((pack, needed, received))
        });
        let (pack, needed, received) = measured.await.map_err(|error| GitError::from_task(&error))??;
        let needed = needed.saturating_add(pack.len() as u64);
        let memory = PACKS_OF_USERS.reserve_in_full(current_turn(), needed).await?;
        let (commit, scratch) = (commit.to_owned(), self.scratch.clone());
        let read = tokio::task::spawn_blocking(move || {
            let objects = CommitObjects::read(&pack, &commit, &scratch, memory);
            drop((pack, received));
            objects
        });
        read.await.map_err(|error| GitError::from_task(&error))?
    }

    /// The list of the refs with these names, which may have others.
    async fn list_refs(&self, remote: &GitRemote, names: &[String]) -> Result<Vec<u8>, GitError> {
        match remote.address() {
            RemoteAddress::Http { url, credentials } => {
                let session = self.open(url, credentials.as_ref()).await?;
                let request = session.capabilities.encode_ls_refs(names);
                self.command(&session, &request, MAX_REFS_BYTES).await
            }
            RemoteAddress::Ssh { url, credentials } => {
                let (mut session, capabilities) = self.open_ssh(url, credentials.as_ref()).await?;
                session.command(&capabilities.encode_ls_refs(names), MAX_REFS_BYTES).await
            }
        }
    }

    /// The response to a request for a pack, with the reservation of its memory.
    async fn fetch(
        &self,
        remote: &GitRemote,
        encode: impl FnOnce(&Capabilities) -> Vec<u8> + Send,
    ) -> Result<(Vec<u8>, ClientReservation), GitError> {
        match remote.address() {
            RemoteAddress::Http { url, credentials } => {
                let session = self.open(url, credentials.as_ref()).await?;
                let request = encode(&session.capabilities);
                self.fetch_pack(&session, &request).await
            }
            RemoteAddress::Ssh { url, credentials } => {
                let (mut session, capabilities) = self.open_ssh(url, credentials.as_ref()).await?;
                session.fetch_pack(&encode(&capabilities)).await
            }
        }
    }

    /// Connects to a server over SSH.
    async fn open_ssh(
        &self,
        url: &SshUrl,
        credentials: Option<&SshCredentials>,
    ) -> Result<(SshSession, Capabilities), GitError> {
        let program = self.ssh.as_ref().ok_or_else(ssh::unavailable)?;
        let credentials = credentials.ok_or_else(|| ssh::no_credentials(url))?;
        // As for HTTPS: the server proves who it is, whatever its address.
        let network = self.policy.https.ok_or_else(ssh::not_allowed)?;
        let mut session = program.open(url, credentials, network, &self.scratch).await?;
        let capabilities = session.read_capabilities().await?;
        Ok((session, capabilities))
    }

    async fn open<'a>(
        &self,
        repository: &Url,
        credentials: Option<&'a Credentials>,
    ) -> Result<GitSession<'a>, GitError> {
        let mut url = repository.clone();
        url.set_path(&format!("{}/info/refs", repository.path()));
        url.set_query(Some("service=git-upload-pack"));
        let request = self.request(url, self.policy, credentials, MAX_REFS_BYTES);
        let response = self.egress.open(request).await?;
        check(&response, "application/x-git-upload-pack-advertisement")?;
        let response = response.read_to_end().await?;
        let mut base = response.url.clone();
        base.set_query(None);
        let path = base.path().strip_suffix("/info/refs").map(str::to_owned);
        let path =
            path.ok_or_else(|| GitError::invalid("The repository redirects to another kind of address."))?;
        base.set_path(&path);
        Ok(GitSession {
            // The user trusts the origin of the repository; another one was chosen by it.
            policy: if base.origin() == repository.origin() { self.policy } else { response.policy },
            base,
            credentials,
            capabilities: Capabilities::parse(&response.body)?,
        })
    }

    async fn command(
        &self,
        session: &GitSession<'_>,
        bytes: &[u8],
        max_bytes: usize,
    ) -> Result<Vec<u8>, GitError> {
        let request = self.command_request(session, bytes, max_bytes);
        let response = self.egress.open(request).await?;
        check(&response, RESULT_TYPE)?;
        Ok(response.read_to_end().await?.body)
    }

    /// The response to a command that is answered with a pack, with the reservation of its memory.
    async fn fetch_pack(
        &self,
        session: &GitSession<'_>,
        bytes: &[u8],
    ) -> Result<(Vec<u8>, ClientReservation), GitError> {
        let request = self.command_request(session, bytes, MAX_PACK_BYTES);
        let mut stream = self.egress.open(request).await?;
        check(&stream, RESULT_TYPE)?;
        read_reserved(&mut stream, &FILES_OF_USERS).await
    }

    fn command_request<'a>(
        &self,
        session: &'a GitSession<'_>,
        bytes: &'a [u8],
        max_bytes: usize,
    ) -> FetchRequest<'a> {
        let mut url = session.base.clone();
        url.set_path(&format!("{}/git-upload-pack", session.base.path()));
        let body = PostBody { content_type: "application/x-git-upload-pack-request", bytes };
        FetchRequest { body: Some(body), ..self.request(url, session.policy, session.credentials, max_bytes) }
    }

    fn request<'a>(
        &self,
        url: Url,
        policy: EgressPolicy,
        credentials: Option<&'a Credentials>,
        max_bytes: usize,
    ) -> FetchRequest<'a> {
        FetchRequest {
            url,
            policy,
            accept: "",
            credentials,
            validators: None,
            max_bytes,
            max_redirects: MAX_REDIRECTS,
            headers: vec![(HeaderName::from_static("git-protocol"), HeaderValue::from_static("version=2"))],
            body: None,
        }
    }
}

/// Checks status and media type of a response before any of its body is received: an error needs none.
fn check(response: &ResponseStream, content_type: &str) -> Result<(), GitError> {
    if !response.status().is_success() {
        return Err(GitError::from_status(response.status(), response.url()));
    }
    check_content_type(response.headers(), content_type)
}

fn check_content_type(headers: &HeaderMap, content_type: &str) -> Result<(), GitError> {
    let found = headers.get(egress::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if found == Some(content_type) {
        return Ok(());
    }
    Err(GitError::invalid(
        "The server responds like no Git server: it may be the page of a repository, or need a sign-in.",
    ))
}

/// The full names that a ref may stand for.
fn list_candidates(reference: &str) -> Vec<String> {
    match reference {
        "" => vec!["HEAD".to_owned()],
        full if full.starts_with("refs/") => vec![full.to_owned()],
        short => vec![format!("refs/heads/{short}"), format!("refs/tags/{short}")],
    }
}

/// Whether a repository has a ref is unknown if its list of refs was not read to its end.
fn explain_long_list(error: GitError) -> GitError {
    if error.kind != GitErrorKind::TooLarge {
        return error;
    }
    let message = format!(
        "The list of its refs could not be read: the Git server lists more than {} MiB, because it lists other refs than the requested ones.",
        MAX_REFS_BYTES >> 20
    );
    let hint = "Name a commit with all 40 digits, remove refs that nobody needs, or update the Git server.";
    GitError::new(GitErrorKind::TooLarge, message, hint)
}

fn missing_ref(reference: &str) -> GitError {
    let is_short_commit =
        (7..40).contains(&reference.len()) && reference.bytes().all(|byte| byte.is_ascii_hexdigit());
    let (message, hint) = match reference {
        "" => (
            "The repository has no default branch: it may be empty.".to_owned(),
            "Name a branch or a tag, or push a first commit.",
        ),
        short if is_short_commit => {
            (format!("The repository has no branch or tag {short:?}."), "Write a commit with all 40 digits.")
        }
        other => (
            format!("The repository has no branch or tag {other:?}."),
            "Check the name of the branch or tag.",
        ),
    };
    GitError::new(GitErrorKind::NotFound, message, hint)
}

#[cfg(test)]
mod tests {
    use testkit::{HttpResponse, HttpServer};

    use super::*;

    #[tokio::test]
    async fn an_error_of_a_git_server_is_reported_by_its_status_whatever_follows_it() {
        let server = HttpServer::start(|_, request| {
            if request.path.starts_with("/private/") {
                HttpResponse::unfinished().with_status(401)
            } else {
                HttpResponse::endless().with_status(500)
            }
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let scratch = ScratchFolder::open(folder.path()).unwrap();
        let client = GitClient::new(RemoteAccess::PrivateHttp, scratch).unwrap();
        for (path, kind, status) in
            [("/private", GitErrorKind::Unauthorized, "401"), ("/broken", GitErrorKind::Unreachable, "500")]
        {
            let remote = GitRemote::new(&server.url(path), None).unwrap();
            let error = client.resolve_ref(&remote, "main").await.unwrap_err();
            assert_eq!(error.kind, kind, "{path}: {}", error.message);
            assert!(error.message.contains(&format!("responds {status}")), "{}", error.message);
        }
    }
}
