//! What happens in the process of a renderer: it limits itself, measures whether that is in force, and becomes the program.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use landlock::{
    ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr,
};
use nix::libc;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl;
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::Signal;
use nix::sys::stat::{Mode, umask};
use nix::unistd::{Pid, getppid};

use super::{BoxError, FILE_BYTES, Protections, SETUP_FAILED, SandboxLayers, memory, system_calls};

/// Address space in bytes: the runtime of Go reserves most of 1 GiB before it allocates anything. What it may allocate of that is less.
const ADDRESS_SPACE_BYTES: u64 = 2 << 30;
/// Who the kernel ends if memory runs out: this process, and no other.
const OUT_OF_MEMORY_SCORE: &str = "1000";
/// CPU time in seconds.
const CPU_SECONDS: u64 = 20;
/// Open files.
const OPEN_FILES: u64 = 256;
/// The port of the discard service, to which a connection is attempted at the loopback address.
const DISCARD_PORT: u16 = 9;

/// Enters the sandbox with these layers and becomes the program; returns only if that fails, and after `--probe`. Call it before the
/// process has other threads.
pub fn run(arguments: impl Iterator<Item = OsString>, layers: SandboxLayers) -> ExitCode {
    let message = match Arguments::parse(arguments) {
        Ok(parsed) => match enter(&parsed, layers) {
            Ok(measured) if parsed.is_probe => match writeln!(std::io::stdout(), "{measured}") {
                Ok(()) => return ExitCode::SUCCESS,
                Err(error) => format!("can't report: {error}"),
            },
            Ok(measured) if parsed.is_strict && !measured.is_closed() => {
                format!("the kernel does not close it ({measured})")
            }
            Ok(_) => format!("can't execute {}: {}", parsed.program.display(), exec(&parsed)),
            Err(error) => format!("can't enter the sandbox: {error}"),
        },
        Err(message) => message.to_owned(),
    };
    // There is nobody to report a failure of this write to.
    let _ = writeln!(std::io::stderr(), "flotilla sandbox: {message}");
    ExitCode::from(SETUP_FAILED)
}

fn exec(arguments: &Arguments) -> Error {
    Command::new(&arguments.program).args(&arguments.rest).exec()
}

#[derive(Debug, Default)]
struct Arguments {
    read_only: Vec<PathBuf>,
    writable: Option<PathBuf>,
    /// The process that this one ends with.
    server: Option<Pid>,
    /// Whether the program runs only if every protection is in force.
    is_strict: bool,
    /// Whether the program needs the network: then only resources are limited, and it ends with the server.
    needs_network: bool,
    /// Whether the protections are reported instead of a program run.
    is_probe: bool,
    program: PathBuf,
    rest: Vec<OsString>,
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
                Some("--server") => {
                    let id = arguments.next().and_then(|id| id.to_str()?.parse().ok());
                    parsed.server = Some(Pid::from_raw(id.ok_or("--server needs the id of a process")?));
                }
                Some("--strict") => parsed.is_strict = true,
                Some("--network") => parsed.needs_network = true,
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

/// Limits this process, and measures what is in force. A layer that the kernel does not offer is no error: the measurement decides.
fn enter(arguments: &Arguments, layers: SandboxLayers) -> Result<Protections, BoxError> {
    // Without it the limits still hold; the kernel may end the server instead if they are together too high.
    let _ = std::fs::write("/proc/self/oom_score_adj", OUT_OF_MEMORY_SCORE);
    for (resource, limit) in [
        (Resource::RLIMIT_AS, ADDRESS_SPACE_BYTES),
        (Resource::RLIMIT_DATA, memory::process_bytes()),
        (Resource::RLIMIT_CPU, CPU_SECONDS),
        (Resource::RLIMIT_FSIZE, FILE_BYTES),
        (Resource::RLIMIT_NOFILE, OPEN_FILES),
        (Resource::RLIMIT_CORE, 0),
    ] {
        setrlimit(resource, limit, limit)?;
    }
    umask(Mode::from_bits_truncate(0o077));
    let outside = OutsideFiles::find();
    if arguments.needs_network {
        if let Some(server) = arguments.server {
            end_with(server)?;
        }
        prctl::set_no_new_privs()?;
        return Ok(Protections { files: false, network: false });
    }
    // A namespace without interfaces; kernels may forbid it to unprivileged users.
    let has_namespace =
        layers.namespaces && unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).is_ok();
    // After that, because new credentials reset it.
    if let Some(server) = arguments.server {
        end_with(server)?;
    }
    prctl::set_no_new_privs()?;
    if layers.landlock {
        restrict_with_landlock(arguments)?;
    }
    // Last: it denies calls that the other layers need.
    if layers.seccomp {
        // A failure shows in the measurement.
        let _ = system_calls::deny();
    }
    Ok(Protections { files: outside.are_closed(), network: is_network_closed(has_namespace) })
}

/// Lets the kernel kill this process and the program that it becomes when the server ends, which started it.
fn end_with(server: Pid) -> Result<(), BoxError> {
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    // It may have ended before.
    if getppid() != server {
        return Err("the server has ended".into());
    }
    Ok(())
}

/// Denies every file but those of the arguments, and TCP, as far as the kernel has Landlock.
fn restrict_with_landlock(arguments: &Arguments) -> Result<(), BoxError> {
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
    ruleset.restrict_self()?;
    Ok(())
}

/// Files that this process could open before it limited itself.
struct OutsideFiles {
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl OutsideFiles {
    fn find() -> Self {
        let mut readable = vec![PathBuf::from("/")];
        readable.extend(std::env::current_exe().ok());
        readable.retain(|path| File::open(path).is_ok());
        let mut writable = vec![PathBuf::from("/dev/null")];
        writable.retain(|path| open_for_writing(path).is_ok());
        Self { readable, writable }
    }

    /// Whether none of them can be opened any more. Without any, nothing is known, and they are not.
    fn are_closed(&self) -> bool {
        let is_denied = |opened: std::io::Result<File>| {
            opened.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
        };
        !self.readable.is_empty()
            && self.readable.iter().all(|path| is_denied(File::open(path)))
            && self.writable.iter().all(|path| is_denied(open_for_writing(path)))
    }
}

fn open_for_writing(path: &Path) -> std::io::Result<File> {
    OpenOptions::new().write(true).open(path)
}

/// Whether neither TCP nor UDP reaches the loopback address. In a namespace without interfaces it is unreachable, otherwise attempts
/// must be denied: nothing listens there usually.
fn is_network_closed(has_namespace: bool) -> bool {
    let is_closed = |error: &Error| match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => true,
        Some(libc::ENETUNREACH) => has_namespace,
        _ => false,
    };
    let send = || UdpSocket::bind(("0.0.0.0", 0))?.send_to(b"", ("127.0.0.1", DISCARD_PORT));
    TcpStream::connect(("127.0.0.1", DISCARD_PORT)).is_err_and(|error| is_closed(&error))
        && send().is_err_and(|error| is_closed(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, &'static str> {
        Arguments::parse(line.split(' ').map(OsString::from))
    }

    #[test]
    fn what_is_no_argument_of_the_sandbox_starts_nothing() {
        let parsed = parse("--write /w --read /a --server 7 --strict -- /helm template --probe").unwrap();
        assert_eq!((parsed.server, parsed.is_strict, parsed.is_probe), (Some(Pid::from_raw(7)), true, false));
        assert_eq!((parsed.program, parsed.rest.len()), ("/helm".into(), 2));
        for wrong in ["", "--without seccomp -- /helm", "--server x -- /helm", "--strict", "--read", "helm"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
