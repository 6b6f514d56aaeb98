//! The sandbox of a renderer: a process limits itself and then becomes the program.
//!
//! The limits are set by the process itself before it executes the program, because code between fork and exec would need
//! `unsafe`. Network and files are closed by Landlock and, where the kernel allows it, by a network namespace of its own; memory,
//! CPU time and file sizes by resource limits. What the kernel does not offer is reported by [`Protections`], never silently left out.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus,
};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{Resource, setrlimit};

/// The name of the command that enters the sandbox, as the first argument of the server.
pub const COMMAND: &str = "sandbox-exec";

/// Address space in bytes: the runtime of Go reserves most of 1 GiB before it allocates anything.
const ADDRESS_SPACE_BYTES: u64 = 2 << 30;
/// CPU time in seconds.
const CPU_SECONDS: u64 = 20;
/// Size of one written file in bytes.
pub const FILE_BYTES: u64 = 32 << 20;
/// Open files.
const OPEN_FILES: u64 = 256;
/// The exit code if the sandbox can't be entered; programs rarely use it.
pub const SETUP_FAILED: u8 = 125;

/// Which protections of the kernel are in force; limits on resources always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Protections {
    /// Files outside of the sandbox can be neither read nor written.
    pub files: bool,
    /// No connection can be opened.
    pub network: bool,
}

/// The arguments that run `program` in the sandbox: it may read and execute `read_only`, and write below `writable`.
pub fn build_arguments(read_only: &[&Path], writable: &Path, program: &Path) -> Vec<OsString> {
    let mut arguments = vec![OsString::from("--write"), writable.into()];
    for path in read_only {
        arguments.extend([OsString::from("--read"), (*path).into()]);
    }
    arguments.extend([OsString::from("--"), program.into()]);
    arguments
}

/// Enters the sandbox and becomes the program; returns only if that fails. Call it before the process has other threads.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let message = match Arguments::parse(arguments) {
        Ok(parsed) => match enter(&parsed) {
            Ok(_) => format!("can't execute {}: {}", parsed.program.display(), exec(&parsed)),
            Err(error) => format!("can't enter the sandbox: {error}"),
        },
        Err(message) => message.to_owned(),
    };
    // There is nobody to report a failure of this write to.
    let _ = writeln!(std::io::stderr(), "flotilla sandbox: {message}");
    ExitCode::from(SETUP_FAILED)
}

fn exec(arguments: &Arguments) -> std::io::Error {
    Command::new(&arguments.program).args(&arguments.rest).exec()
}

/// Tests in a process of its own which protections are in force; `command` is the program with [`COMMAND`], if it needs one.
pub fn probe(command: &[OsString]) -> std::io::Result<Protections> {
    let Some((program, first)) = command.split_first() else {
        return Err(std::io::Error::other("no sandbox command"));
    };
    let output = Command::new(program).args(first).arg("--probe").env_clear().output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        return Err(std::io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    Ok(Protections { files: text.contains("files"), network: text.contains("network") })
}

#[derive(Debug, Default)]
struct Arguments {
    read_only: Vec<PathBuf>,
    writable: Option<PathBuf>,
    program: PathBuf,
    rest: Vec<OsString>,
    is_probe: bool,
}

impl Arguments {
    fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Self, &'static str> {
        let mut parsed = Self::default();
        while let Some(argument) = arguments.next() {
            match argument.to_str() {
                Some("--read") => {
                    parsed.read_only.push(arguments.next().ok_or("--read needs a path")?.into())
                }
                Some("--write") => {
                    parsed.writable = Some(arguments.next().ok_or("--write needs a path")?.into())
                }
                Some("--probe") => {
                    parsed.is_probe = true;
                    return Ok(parsed);
                }
                Some("--") => {
                    parsed.program = arguments.next().ok_or("no program")?.into();
                    parsed.rest = arguments.collect();
                    return Ok(parsed);
                }
                _ => return Err("unknown argument"),
            }
        }
        Err("no program")
    }
}

/// Limits this process.
fn enter(arguments: &Arguments) -> Result<Protections, Box<dyn std::error::Error>> {
    for (resource, limit) in [
        (Resource::RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (Resource::RLIMIT_CPU, CPU_SECONDS),
        (Resource::RLIMIT_FSIZE, FILE_BYTES),
        (Resource::RLIMIT_NOFILE, OPEN_FILES),
        (Resource::RLIMIT_CORE, 0),
    ] {
        setrlimit(resource, limit, limit)?;
    }
    // A namespace without interfaces; kernels may forbid it to unprivileged users, then Landlock alone denies connections.
    let has_namespace = unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).is_ok();
    let landlock = restrict_with_landlock(arguments)?;
    let protections = Protections { files: landlock.files, network: has_namespace || landlock.network };
    if arguments.is_probe {
        let mut out = std::io::stdout();
        writeln!(
            out,
            "{} {}",
            if protections.files { "files" } else { "" },
            if protections.network { "network" } else { "" }
        )?;
        std::process::exit(0);
    }
    Ok(protections)
}

/// Denies every file but those of the arguments, and TCP. Sets `no_new_privs`.
fn restrict_with_landlock(arguments: &Arguments) -> Result<Protections, Box<dyn std::error::Error>> {
    let abi = ABI::V5;
    let all = AccessFs::from_all(abi);
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .handle_access(AccessNet::from_all(abi))?
        .create()?;
    for path in &arguments.read_only {
        let access =
            if path.is_dir() { AccessFs::from_read(abi) } else { AccessFs::ReadFile | AccessFs::Execute };
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, access))?;
    }
    if let Some(path) = &arguments.writable {
        // Everything but the execution of what was written.
        ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(path)?, all & !AccessFs::Execute))?;
    }
    let status = ruleset.restrict_self()?;
    let files = status.ruleset != RulesetStatus::NotEnforced;
    Ok(Protections { files, network: files && denies_connections() })
}

/// Whether a connection is denied: Landlock restricts TCP only since version 4.
fn denies_connections() -> bool {
    let attempt = std::net::TcpStream::connect(("127.0.0.1", 9));
    attempt.is_err_and(|error| error.kind() == std::io::ErrorKind::PermissionDenied)
}

/// Reads a file to its end, at most `limit` bytes; `None` if it is larger.
pub(crate) fn read_bounded(path: &Path, limit: u64) -> std::io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 <= limit).then_some(bytes))
}
