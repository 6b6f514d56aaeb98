//! The process of a renderer, or of `ssh`: it ends with its server and with its request, and its folder is deleted after it.
//!
//! The kernel kills the process when the *thread* that started it ends. Threads of the runtime may end while the server runs, so
//! that one thread, which ends with the server only, starts all of them.

use std::io::{Error, ErrorKind, Result};
use std::os::unix::process::CommandExt as _;
use std::process::{ExitStatus, Stdio};
use std::sync::mpsc::{self, SendError};
use std::time::Duration;

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// Wall-clock time of one run.
pub(crate) const RUN_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes of messages that are read from a run; one that prints more is ended.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;

/// How a run ended.
#[derive(Debug)]
pub(crate) enum RunEnd {
    /// By itself, or by a signal.
    Exited(ExitStatus),
    /// It was killed, because it printed too much.
    PrintedTooMuch,
    /// It was killed after [`RUN_TIMEOUT`].
    TimedOut,
}

/// A run that has ended.
#[derive(Debug)]
pub(crate) struct FinishedRun {
    pub end: RunEnd,
    /// What it printed on the standard output.
    pub output: Vec<u8>,
    /// What it printed on the standard error.
    pub messages: String,
    /// Its folder, deleted when it is dropped.
    pub folder: TempDir,
}

/// Runs a command to its end, with a standard output of at most `max_output` bytes. If the caller is dropped, the processes are
/// killed and the folder is deleted after them.
pub(crate) async fn run(
    command: std::process::Command,
    folder: TempDir,
    max_output: u64,
) -> Result<FinishedRun> {
    // Dropped with the caller.
    let (_caller, caller_gone) = oneshot::channel::<()>();
    let task = tokio::spawn(async move {
        let mut process = GroupProcess(start(command).await?);
        let ended = tokio::select! {
            ended = process.read_to_end(max_output) => ended.map(Some),
            () = tokio::time::sleep(RUN_TIMEOUT) => Ok(None),
            _ = caller_gone => Err(Error::other("the request was cancelled")),
        };
        let (end, output, messages) = match ended {
            Ok(Some((status, output, messages))) => (RunEnd::Exited(status), output, messages),
            Ok(None) => (RunEnd::TimedOut, Vec::new(), Vec::new()),
            Err(error) if error.kind() == ErrorKind::FileTooLarge => {
                (RunEnd::PrintedTooMuch, Vec::new(), Vec::new())
            }
            Err(error) => {
                process.kill().await?;
                return Err(error);
            }
        };
        if !matches!(end, RunEnd::Exited(_)) {
            process.kill().await?;
        }
        let messages = String::from_utf8_lossy(&messages).into_owned();
        Ok(FinishedRun { end, output, messages, folder })
    });
    task.await?
}

/// A process that leads a group of its own.
#[derive(Debug)]
struct GroupProcess(Child);

impl GroupProcess {
    /// Waits for the end and reads what is printed. An error of the kind [`ErrorKind::FileTooLarge`] if that is too much.
    async fn read_to_end(&mut self, max_output: u64) -> Result<(ExitStatus, Vec<u8>, Vec<u8>)> {
        let (out, err) = (self.0.stdout.take(), self.0.stderr.take());
        let (output, messages) =
            tokio::try_join!(read_stream(out, max_output), read_stream(err, MAX_MESSAGE_BYTES))?;
        Ok((self.0.wait().await?, output, messages))
    }

    /// Kills the group and waits for the end of the process.
    async fn kill(&mut self) -> Result<()> {
        self.kill_group();
        self.0.wait().await.map(drop)
    }

    fn kill_group(&self) {
        // Without an id, it has ended and was waited for: the number may be that of another process.
        let id = self.0.id().and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id {
            // It fails only if the group has ended.
            let _ = killpg(Pid::from_raw(id), Signal::SIGKILL);
        }
    }
}

impl Drop for GroupProcess {
    fn drop(&mut self) {
        self.kill_group();
    }
}

async fn read_stream(stream: Option<impl AsyncRead + Unpin>, limit: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        stream.take(limit + 1).read_to_end(&mut bytes).await?;
    }
    if bytes.len() as u64 > limit { Err(ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

/// A process to start.
struct StartRequest {
    command: Command,
    /// The runtime that waits for its end.
    runtime: Handle,
    reply: oneshot::Sender<Result<Child>>,
}

/// The thread that starts processes, from the first one on.
static STARTER: Mutex<Option<mpsc::Sender<StartRequest>>> = Mutex::new(None);

async fn start(mut command: std::process::Command) -> Result<Child> {
    command.stdin(Stdio::null());
    spawn(command).await
}

/// A process that is written to and read from while it runs. Its group is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Conversation(GroupProcess);

impl Conversation {
    /// Starts it.
    pub async fn start(mut command: std::process::Command) -> Result<Self> {
        command.stdin(Stdio::piped());
        Ok(Self(GroupProcess(spawn(command).await?)))
    }

    /// Its standard input, output and error.
    pub fn take_streams(&mut self) -> Option<(ChildStdin, ChildStdout, ChildStderr)> {
        let child = &mut self.0.0;
        Some((child.stdin.take()?, child.stdout.take()?, child.stderr.take()?))
    }

    /// Waits until it ends by itself.
    pub async fn wait(&mut self) -> Result<ExitStatus> {
        self.0.0.wait().await
    }
}

/// Starts a process that leads a group of its own.
async fn spawn(mut command: std::process::Command) -> Result<Child> {
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    let (reply, started) = oneshot::channel();
    request_start(StartRequest { command, runtime: Handle::current(), reply })?;
    started.await.map_err(|_| Error::other("the thread that starts processes has ended"))?
}

fn request_start(mut request: StartRequest) -> Result<()> {
    let mut starter = STARTER.lock();
    if let Some(sender) = &*starter {
        match sender.send(request) {
            Ok(()) => return Ok(()),
            // The thread has ended by a panic.
            Err(SendError(returned)) => request = returned,
        }
    }
    let (sender, requests) = mpsc::channel::<StartRequest>();
    std::thread::Builder::new().name("processes".to_owned()).spawn(move || {
        for StartRequest { mut command, runtime, reply } in requests {
            let _entered = runtime.enter();
            // A process whose request is gone is killed when it is dropped.
            let _ = reply.send(command.spawn());
        }
    })?;
    sender.send(request).map_err(|_| Error::other("the thread that starts processes has ended"))?;
    *starter = Some(sender);
    Ok(())
}
