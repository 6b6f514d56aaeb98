//! The sandbox of a renderer: a process limits itself and then becomes the program.
//!
//! The limits are set by the process itself before it executes the program, because code between fork and exec would need
//! `unsafe`. Landlock closes files and TCP, a namespace of its own the network, seccomp every socket and other processes; memory,
//! CPU time and file sizes are bounded by resource limits. Layers that the kernel does not offer are left out, and the process
//! measures what is closed then. In the mode `strict` nothing runs unless files and network are.

use std::ffi::OsString;
use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use domain::server_status::{RendererSandbox, SandboxMode};
use tempfile::TempDir;

use crate::scratch::{ScratchFolder, create_private_folder};

mod enter;
mod memory;
mod process;
mod system_calls;

pub use enter::run;
pub use memory::max_processes;
pub(crate) use process::{Conversation, RUN_TIMEOUT, RunEnd, run as run_process};

/// An error of the process that enters the sandbox.
type BoxError = Box<dyn std::error::Error>;

/// The name of the command that enters the sandbox, as the first argument of the server.
pub const COMMAND: &str = "sandbox-exec";

/// Size of one written file in bytes.
pub const FILE_BYTES: u64 = 32 << 20;
/// The exit code if the sandbox can't be entered; programs rarely use it.
pub const SETUP_FAILED: u8 = 125;
/// Exit code of a program in Go that crashed, as it does where it gets no memory: then its messages are a stack.
pub(crate) const GO_CRASHED: i32 = 2;

/// What to do if the kernel does not close the sandbox.
const NOT_CLOSED_HINT: &str = "Run the server on Linux 5.13 or newer with Landlock and seccomp, or start it with \
                               --renderer-sandbox=best-effort to render without this protection.";

/// The layers of the sandbox that need the kernel. The server uses all of them; tests leave some out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SandboxLayers {
    /// Files, and TCP since Linux 6.7.
    pub landlock: bool,
    /// A network without interfaces.
    pub namespaces: bool,
    /// System calls.
    pub seccomp: bool,
}

impl SandboxLayers {
    /// Every layer.
    pub const ALL: Self = Self { landlock: true, namespaces: true, seccomp: true };
}

/// What a process in the sandbox has measured; limits on resources are always in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protections {
    /// Files outside of the sandbox can be neither read nor written.
    pub files: bool,
    /// No connection can be opened and no packet sent.
    pub network: bool,
}

impl Protections {
    /// Whether all of them are in force.
    pub fn is_closed(self) -> bool {
        self.files && self.network
    }

    /// Reads what a probe prints.
    fn parse(text: &str) -> Option<Self> {
        let all = [(true, true), (true, false), (false, true), (false, false)];
        all.into_iter()
            .map(|(files, network)| Self { files, network })
            .find(|one| one.to_string() == text.trim())
    }
}

impl fmt::Display for Protections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = |is_closed: bool| if is_closed { "closed" } else { "open" };
        write!(f, "files {}, network {}", state(self.files), state(self.network))
    }
}

/// Nothing is rendered, because the sandbox is not closed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SandboxNotClosed {
    /// What is not closed.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// The sandbox of a server. Clones share it.
#[derive(Debug, Clone)]
pub struct Sandbox(Arc<SandboxSettings>);

#[derive(Debug)]
struct SandboxSettings {
    /// The program and first arguments that enter the sandbox.
    command: Vec<OsString>,
    mode: SandboxMode,
    /// What was measured, or why nothing could be measured.
    measured: Result<Protections, String>,
    scratch: ScratchFolder,
}

impl Sandbox {
    /// Measures in a process of its own which protections this kernel offers. `command` is the program with its first arguments
    /// that calls [`run`]. If nothing can be measured, nothing is rendered ([`Self::check`]).
    pub async fn measure(command: Vec<OsString>, mode: SandboxMode, scratch: ScratchFolder) -> Self {
        let probed = command.clone();
        let measured = tokio::task::spawn_blocking(move || probe(&probed)).await;
        let measured = measured.map_err(std::io::Error::from).flatten().map_err(|error| error.to_string());
        Self(Arc::new(SandboxSettings { command, mode, measured, scratch }))
    }

    /// Succeeds if programs may be run in it.
    ///
    /// # Errors
    /// Its protections are unknown, or not all in force and the mode is strict.
    pub fn check(&self) -> Result<(), SandboxNotClosed> {
        let found = match &self.0.measured {
            Ok(found) => found,
            Err(error) => {
                return Err(SandboxNotClosed {
                    message: format!(
                        "Nothing is rendered: the sandbox of renderers could not be measured at the start of the server ({error})."
                    ),
                    hint: "Correct the cause and restart the server.".to_owned(),
                });
            }
        };
        let open = match (found.files, found.network) {
            (true, true) => return Ok(()),
            _ if self.0.mode == SandboxMode::BestEffort => return Ok(()),
            (false, true) => "a chart could read files of the server",
            (true, false) => "a chart could open connections",
            (false, false) => "a chart could read files of the server and open connections",
        };
        Err(SandboxNotClosed {
            message: format!(
                "Nothing is rendered: the kernel of the server does not close the sandbox of renderers, so {open}."
            ),
            hint: NOT_CLOSED_HINT.to_owned(),
        })
    }

    /// The mode, and what was measured; what could not be measured counts as open.
    pub fn status(&self) -> RendererSandbox {
        let found = self.0.measured.as_ref().ok();
        let problem = self.check().err().map(|problem| format!("{} {}", problem.message, problem.hint));
        RendererSandbox {
            mode: self.0.mode,
            files_closed: found.is_some_and(|found| found.files),
            network_closed: found.is_some_and(|found| found.network),
            problem,
        }
    }

    /// Creates the folder of a run.
    pub(crate) fn create_folder(&self, prefix: &str) -> std::io::Result<TempDir> {
        self.0.scratch.create_folder(prefix)
    }

    /// A command that runs `program` in the sandbox. Only the program can be read, and `folder`, which can be written.
    pub(crate) fn build_command(&self, program: &Path, folder: &Path) -> std::io::Result<Command> {
        let home = folder.join("home");
        create_private_folder(&home)?;
        let (command, first) =
            self.0.command.split_first().ok_or_else(|| std::io::Error::other("no sandbox command"))?;
        let mut command = Command::new(command);
        let arguments = SandboxArguments {
            read_only: &[program, Path::new("/dev/null")],
            writable: folder,
            program,
            is_strict: self.0.mode == SandboxMode::Strict,
        };
        command
            .args(first)
            .args(arguments.build())
            .env_clear()
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
            .env("TMPDIR", folder)
            .env("GOMAXPROCS", "2")
            // The runtime of Go frees memory before it reaches the limit of the process.
            .env("GOMEMLIMIT", (memory::process_bytes() / 4 * 3).to_string())
            .current_dir(folder);
        Ok(command)
    }
}

/// What a program may do in the sandbox.
#[derive(Debug, Clone, Copy)]
pub struct SandboxArguments<'a> {
    /// Files and folders that it may read and execute.
    pub read_only: &'a [&'a Path],
    /// The folder that it may write.
    pub writable: &'a Path,
    /// The program.
    pub program: &'a Path,
    /// Whether it runs only if every protection is in force.
    pub is_strict: bool,
}

impl SandboxArguments<'_> {
    /// The arguments of [`run`]; those of the program follow them. The program ends with this process.
    pub fn build(&self) -> Vec<OsString> {
        let mut arguments = vec![OsString::from("--server"), std::process::id().to_string().into()];
        if self.is_strict {
            arguments.push("--strict".into());
        }
        arguments.extend(["--write".into(), self.writable.into()]);
        for path in self.read_only {
            arguments.extend([OsString::from("--read"), (*path).into()]);
        }
        arguments.extend(["--".into(), self.program.into()]);
        arguments
    }
}

/// The arguments of [`run`] for a program that needs the network: it ends with this process and has the limits on resources, and its files
/// are not restricted.
pub(crate) fn network_program_arguments(program: &Path) -> Vec<OsString> {
    let server = std::process::id().to_string().into();
    vec!["--server".into(), server, "--network".into(), "--".into(), program.into()]
}

/// Measures in a process of its own which protections are in force; `command` is the program with [`COMMAND`], if it needs one.
///
/// # Errors
/// The process can't be started, or fails, or prints something else.
pub fn probe(command: &[OsString]) -> std::io::Result<Protections> {
    let Some((program, first)) = command.split_first() else {
        return Err(std::io::Error::other("no sandbox command"));
    };
    let output = Command::new(program).args(first).arg("--probe").env_clear().output()?;
    if !output.status.success() {
        return Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Protections::parse(&text)
        .ok_or_else(|| std::io::Error::other(format!("the sandbox command printed {:?}", text.trim())))
}

/// Reads a file to its end, at most `limit` bytes; `None` if it is larger.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}
