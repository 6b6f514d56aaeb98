//! Kustomizations rendered by the `kustomize` program, in the sandbox of charts.
//!
//! Only `kustomize build` of files from one commit runs: no network, no plugins, no Helm, and no file outside of a folder of its own.
//! What a kustomization would fetch is refused by name when its files are read ([`crate::git`]).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use domain::workload::SourceFile;
use tempfile::TempDir;
use tokio::io::AsyncReadExt as _;
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::sandbox;

mod find;

pub use find::{KustomizeUnavailable, MIN_VERSION};

/// Wall-clock time of one run.
const RUN_TIMEOUT: Duration = Duration::from_secs(30);
/// Most bytes of the rendered manifests.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;
/// Most bytes of messages.
const MAX_MESSAGE_BYTES: u64 = 64 << 10;
/// Most characters of a message that is shown.
const MAX_SHOWN_CHARS: usize = 600;

/// The `kustomize` program.
#[derive(Debug, Clone)]
pub struct Kustomize(Arc<KustomizeProgram>);

#[derive(Debug)]
struct KustomizeProgram {
    program: PathBuf,
    version: String,
    /// The program and first arguments that enter the sandbox.
    sandbox: Vec<OsString>,
    /// One run per core: more would only make each slower.
    runs: Semaphore,
}

/// A kustomization was not rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct KustomizeFailed {
    /// What is wrong, as a sentence.
    pub message: String,
    /// What to do.
    pub hint: String,
    /// Whether it is the server that failed: later it may succeed.
    pub is_temporary: bool,
}

impl KustomizeFailed {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), is_temporary: false }
    }

    fn from_io(error: &std::io::Error) -> Self {
        let message = format!("The kustomization could not be rendered: {error}.");
        Self { is_temporary: true, ..Self::new(message, "Look at the log of the server.") }
    }
}

impl Kustomize {
    /// The version, such as `v5.8.1`.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Renders the kustomization at `path` of these files.
    ///
    /// # Errors
    /// It can't be rendered, or exceeds a limit.
    pub async fn build(
        &self,
        files: BTreeMap<String, Vec<u8>>,
        path: &str,
    ) -> Result<Vec<SourceFile>, KustomizeFailed> {
        let stopping = |_| KustomizeFailed {
            is_temporary: true,
            ..KustomizeFailed::new("The server is stopping.", "Try again.")
        };
        let _permit = self.0.runs.acquire().await.map_err(stopping)?;
        let folder = TempDir::with_prefix("flotilla-kustomize-").map_err(|e| KustomizeFailed::from_io(&e))?;
        let root = folder.path().to_owned();
        let written = tokio::task::spawn_blocking(move || write_files(&root, &files)).await;
        written.map_err(std::io::Error::from).flatten().map_err(|e| KustomizeFailed::from_io(&e))?;
        let mut child = self.start(folder.path(), path).map_err(|e| KustomizeFailed::from_io(&e))?;
        let finished = tokio::time::timeout(RUN_TIMEOUT, wait_for(&mut child)).await;
        let Ok(finished) = finished else {
            let _ = child.kill().await;
            let message =
                format!("Rendering the kustomization took longer than {} s.", RUN_TIMEOUT.as_secs());
            return Err(KustomizeFailed::new(message, "Use fewer or smaller files."));
        };
        let (is_success, output, messages) = finished.map_err(|e| KustomizeFailed::from_io(&e))?;
        if !is_success {
            let root = folder.path().display().to_string();
            let shown: String = messages
                .replace(&root, "")
                .chars()
                .filter(|c| !c.is_control())
                .take(MAX_SHOWN_CHARS)
                .collect();
            return Err(KustomizeFailed::new(
                format!("kustomize build fails: {shown}"),
                "Run `kustomize build` in the folder and correct it.",
            ));
        }
        let text = String::from_utf8(output).map_err(|_| {
            KustomizeFailed::new("The rendered manifests are not UTF-8.", "Correct the files.")
        })?;
        Ok(vec![SourceFile { name: "kustomization.yaml".to_owned(), text }])
    }

    fn start(&self, folder: &Path, path: &str) -> std::io::Result<Child> {
        let home = folder.join("home");
        std::fs::create_dir(&home)?;
        let (command, first) =
            self.0.sandbox.split_first().ok_or_else(|| std::io::Error::other("no sandbox"))?;
        let mut command = Command::new(command);
        command.args(first);
        command.args(sandbox::build_arguments(
            &[&self.0.program, Path::new("/dev/null")],
            folder,
            &self.0.program,
        ));
        // A path of a commit begins with neither a slash nor a dash, because it is joined to the folder.
        command
            .arg("build")
            .arg(folder.join("files").join(path))
            .env_clear()
            .env("HOME", &home)
            .env("XDG_CONFIG_HOME", &home)
            .env("TMPDIR", folder)
            .env("GOMAXPROCS", "2")
            .env("GOMEMLIMIT", "512MiB")
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
    }
}

/// Writes the files below `files`. Their paths were checked when they were read from the commit.
fn write_files(root: &Path, files: &BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    let root = root.join("files");
    std::fs::create_dir(&root)?;
    for (path, bytes) in files {
        let target = root.join(path);
        if let Some(parent) = target.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(target, bytes)?;
    }
    Ok(())
}

/// Waits for the end of a run. One that prints too much is killed.
async fn wait_for(child: &mut Child) -> std::io::Result<(bool, Vec<u8>, String)> {
    let (mut output, mut messages) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let read_out = async {
        match out {
            Some(out) => out.take(MAX_OUTPUT_BYTES + 1).read_to_end(&mut output).await.map(drop),
            None => Ok(()),
        }
    };
    let read_err = async {
        match err {
            Some(err) => err.take(MAX_MESSAGE_BYTES).read_to_end(&mut messages).await.map(drop),
            None => Ok(()),
        }
    };
    let (out, err) = tokio::join!(read_out, read_err);
    out.and(err)?;
    if output.len() as u64 > MAX_OUTPUT_BYTES {
        child.kill().await?;
        let message = format!("the rendered manifests have more than {MAX_OUTPUT_BYTES} bytes");
        return Ok((false, Vec::new(), message));
    }
    let status = child.wait().await?;
    Ok((status.success(), output, String::from_utf8_lossy(&messages).into_owned()))
}
