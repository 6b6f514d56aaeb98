//! Git over SSH: the program `ssh` runs `git-upload-pack` on the server, and version 2 of the Git protocol is spoken with it as over HTTP.
//! `git` itself is not run, so there are no hooks, no configuration and no helpers.
//!
//! The server chooses none of what is trusted: its key must be one of the known hosts of the repository, the address that is connected to
//! is decided by [`egress`] and given to the program, which resolves no name, and the private key is offered to that server only. The
//! program has a cleared environment, reads no configuration of the user or of the machine, and ends with this server.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use domain::ssh_url::SshUrl;
use egress::{MinimumRate, ReachableNetwork, Url};
use tokio::net::TcpStream;

use super::error::{GitError, GitErrorKind};
use crate::sandbox::network_program_arguments;
use crate::scratch::{ScratchFolder, create_private_folder, write_private_file};

mod credentials;
mod messages;
mod session;

pub use credentials::{InvalidSshCredentials, SshCredentials};
pub(super) use session::SshSession;

/// How long a connection is attempted.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Most addresses of a host that are tried.
const MAX_ADDRESSES: usize = 4;
/// How long all of a conversation may take.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Names of the files in the folder of a run.
const KEY_FILE: &str = "key";
const KNOWN_HOSTS_FILE: &str = "known_hosts";

/// The program `ssh`.
#[derive(Debug, Clone)]
pub struct SshProgram {
    path: PathBuf,
    /// The command that ends with this server and becomes the program; empty to run the program itself.
    wrapper: Vec<OsString>,
    rate: MinimumRate,
    timeout: Duration,
}

impl SshProgram {
    /// The program at this path, by default the first `ssh` on `PATH`; `None` if there is none. `wrapper` is the program with its first
    /// arguments that calls [`crate::sandbox::run`], which lets the program end with this process; without it, the program ends when its
    /// input does.
    pub fn find(path: Option<&Path>, wrapper: Vec<OsString>) -> Option<Self> {
        let path = match path {
            Some(path) => path.to_owned(),
            None => {
                let folders = std::env::var_os("PATH")?;
                std::env::split_paths(&folders)
                    .map(|folder| folder.join("ssh"))
                    .find(|path| path.is_file())?
            }
        };
        // It is run in another folder.
        let path = path.canonicalize().ok().filter(|path| path.is_file())?;
        Some(Self { path, wrapper, rate: MinimumRate::COMPUTED, timeout: TIMEOUT })
    }

    /// The same with another least rate and time limit of a conversation, for tests.
    #[must_use]
    pub fn with_limits(self, rate: MinimumRate, timeout: Duration) -> Self {
        Self { rate, timeout, ..self }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Connects to the server of a repository.
    ///
    /// # Errors
    /// Its address is not allowed, it can't be reached, it has another key than the known hosts, or it refuses the private key.
    pub(super) async fn open(
        &self,
        url: &SshUrl,
        credentials: &SshCredentials,
        network: ReachableNetwork,
        scratch: &ScratchFolder,
    ) -> Result<SshSession, GitError> {
        let address = choose_address(url, network).await?;
        let folder = scratch.create_folder("ssh-").map_err(|error| not_started(&error))?;
        let command = self
            .build_command(url, credentials, address, folder.path())
            .map_err(|error| not_started(&error))?;
        SshSession::start(command, folder, url.clone(), (self.rate, self.timeout)).await
    }

    /// The command in this folder, which gets the key and the known hosts.
    fn build_command(
        &self,
        url: &SshUrl,
        credentials: &SshCredentials,
        address: SocketAddr,
        folder: &Path,
    ) -> std::io::Result<Command> {
        let home = folder.join("home");
        create_private_folder(&home)?;
        let (key, known_hosts) = (folder.join(KEY_FILE), folder.join(KNOWN_HOSTS_FILE));
        write_private_file(&key, credentials.private_key().as_bytes())?;
        write_private_file(&known_hosts, credentials.known_hosts().as_bytes())?;
        let mut command = match self.wrapper.split_first() {
            Some((wrapper, first)) => {
                let mut command = Command::new(wrapper);
                command.args(first).args(network_program_arguments(&self.path));
                command
            }
            None => Command::new(&self.path),
        };
        command
            .args(["-F", "/dev/null", "-T", "-x", "-a"])
            .args(OPTIONS.into_iter().flat_map(|option| ["-o", option]))
            .args(["-o", &format!("UserKnownHostsFile={}", known_hosts.display())])
            .args(["-o", &format!("HostKeyAlias={}", url.known_host())])
            .args(["-o", &format!("ConnectTimeout={}", CONNECT_TIMEOUT.as_secs())])
            .arg("-i")
            .arg(&key)
            .args(["-p", &address.port().to_string(), "-l", &url.user, "--", &address.ip().to_string()])
            // The path has no character that ends the quotes.
            .arg(format!("git-upload-pack '{}'", url.path))
            .env_clear()
            .env("HOME", &home)
            .env("GIT_PROTOCOL", "version=2")
            .current_dir(folder);
        Ok(command)
    }
}

/// Options without a value of the repository. The messages of level `DEBUG1` have the fingerprint of the key of the server.
const OPTIONS: [&str; 24] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=/dev/null",
    "CheckHostIP=no",
    "VerifyHostKeyDNS=no",
    "UpdateHostKeys=no",
    "CanonicalizeHostname=no",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "AddKeysToAgent=no",
    "PreferredAuthentications=publickey",
    "PasswordAuthentication=no",
    "KbdInteractiveAuthentication=no",
    "HostbasedAuthentication=no",
    "NumberOfPasswordPrompts=0",
    "ForwardAgent=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ProxyCommand=none",
    "ControlMaster=no",
    "ControlPath=none",
    "EscapeChar=none",
    "SendEnv=GIT_PROTOCOL",
    "LogLevel=DEBUG1",
];

/// An address of the host that may be connected to, and of several the first that can be.
async fn choose_address(url: &SshUrl, network: ReachableNetwork) -> Result<SocketAddr, GitError> {
    let shown = Url::parse(&url.to_string())
        .map_err(|error| GitError::invalid(format!("{url} is no URL of a repository: {error}.")))?;
    let addresses = network.resolve_host(&url.host, url.port, &shown).await?;
    let (first, others) = match addresses.as_slice() {
        [] => return Err(GitError::invalid(format!("{url} has no address."))),
        [only] => return Ok(*only),
        [first, others @ ..] => (*first, others),
    };
    for address in std::iter::once(&first).chain(others).take(MAX_ADDRESSES) {
        let connected = tokio::time::timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await;
        if connected.is_ok_and(|connected| connected.is_ok()) {
            return Ok(*address);
        }
    }
    // The program reports why it can't be connected to.
    Ok(first)
}

fn not_started(error: &std::io::Error) -> GitError {
    // The error itself may contain a path of the server.
    tracing::error!(%error, "ssh could not be run");
    let message = format!("The server could not run ssh: {}.", error.kind());
    GitError::new(GitErrorKind::Unreachable, message, "Look at the log of the server.")
}

/// There is no program.
pub(super) fn unavailable() -> GitError {
    GitError::new(
        GitErrorKind::NotAllowed,
        "This server can't read repositories over SSH, because it has no program ssh.",
        "Install OpenSSH's client on the server or name it with --ssh and restart it, or use the https:// URL of the repository with a token.",
    )
}

/// The server may connect to no address with a protocol in which it verifies the other side.
pub(super) fn not_allowed() -> GitError {
    GitError::new(
        GitErrorKind::NotAllowed,
        "This server may not read repositories over SSH, because it may not use HTTPS either.",
        "Allow HTTPS with --git-repositories and restart the server.",
    )
}

/// The repository has no key.
pub(super) fn no_credentials(url: &SshUrl) -> GitError {
    GitError::new(
        GitErrorKind::Unauthorized,
        format!("{url} is read over SSH, and the project has no private key for it."),
        "Add one with the keys of the server: flotilla git repo add NAME URL --private-key-file FILE --known-hosts FILE, or page Charts.",
    )
}
