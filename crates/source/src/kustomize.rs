//! Kustomizations rendered by the `kustomize` program, in the sandbox of charts.
//!
//! Only `kustomize build` of files from one commit runs: no network, no plugins, no Helm, and no file outside of a folder of its own.
//! What a kustomization would fetch is refused by name when its files are read ([`crate::git`]).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;

use domain::workload::SourceFile;

use crate::messages::{is_about_outside_file, redact};
use crate::sandbox::{GO_CRASHED, RUN_TIMEOUT, RunEnd, SETUP_FAILED, Sandbox, SandboxNotClosed, run_process};
use crate::scratch::{create_private_folder, write_private_file};

mod find;

pub use find::{KustomizeUnavailable, MIN_VERSION};

/// Most bytes of the rendered manifests.
const MAX_OUTPUT_BYTES: u64 = 16 << 20;
/// Most characters of a message that is shown.
const MAX_SHOWN_CHARS: usize = 600;

/// The `kustomize` program.
#[derive(Debug, Clone)]
pub struct Kustomize(Arc<KustomizeProgram>);

#[derive(Debug)]
struct KustomizeProgram {
    program: PathBuf,
    version: String,
    sandbox: Sandbox,
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

impl From<SandboxNotClosed> for KustomizeFailed {
    fn from(found: SandboxNotClosed) -> Self {
        Self { is_temporary: true, ..Self::new(found.message, found.hint) }
    }
}

impl KustomizeFailed {
    fn new(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { message: message.into(), hint: hint.into(), is_temporary: false }
    }

    fn from_io(error: &std::io::Error) -> Self {
        // The error itself may contain a path of the server.
        tracing::error!(%error, "kustomize could not be run");
        let message = format!("The kustomization could not be rendered: {}.", error.kind());
        Self { is_temporary: true, ..Self::new(message, "Look at the log of the server.") }
    }

    /// From the end of a run in this folder.
    fn from_kustomize(status: ExitStatus, messages: &str, folder: &Path) -> Self {
        if status.code() == Some(i32::from(SETUP_FAILED)) {
            // With paths of the server.
            tracing::error!(messages = messages.trim(), "kustomize could not be started");
            let message = "The server could not start kustomize in its sandbox.";
            return Self { is_temporary: true, ..Self::new(message, "Look at the log of the server.") };
        }
        let has = |part: &str| messages.contains(part);
        let has_crashed = status.code().is_none_or(|code| code == GO_CRASHED);
        if has_crashed || has("out of memory") || has("cannot allocate memory") {
            let message = "Rendering the kustomization exceeded the limits on CPU time or memory.";
            return Self::new(message, "Use fewer or smaller files.");
        }
        let redacted = redact(messages, folder);
        if is_about_outside_file(&redacted) {
            let message = "kustomize build fails: it names a path outside of the repository.";
            return Self::new(message, "Name files in the repository only.");
        }
        let shown: String = redacted.chars().filter(|c| !c.is_control()).take(MAX_SHOWN_CHARS).collect();
        let hint = "Run `kustomize build` in the folder and correct it.";
        Self::new(format!("kustomize build fails: {shown}"), hint)
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
    /// It can't be rendered, or exceeds a limit, or the sandbox is not closed.
    pub async fn build(
        &self,
        files: BTreeMap<String, Vec<u8>>,
        path: &str,
    ) -> Result<Vec<SourceFile>, KustomizeFailed> {
        self.0.sandbox.check()?;
        let from_io = |error: std::io::Error| KustomizeFailed::from_io(&error);
        let folder = self.0.sandbox.create_folder("kustomize-").map_err(from_io)?;
        // The thread owns the folder, so that it writes nothing after its deletion.
        let write = move || write_files(&folder.path().join("files"), &files).map(|()| folder);
        let written = tokio::task::spawn_blocking(write).await;
        let folder = written.map_err(std::io::Error::from).flatten().map_err(from_io)?;
        let mut command = self.0.sandbox.build_command(&self.0.program, folder.path()).map_err(from_io)?;
        // A path of a commit begins with neither a slash nor a dash, because it is joined to the folder.
        command.arg("build").arg(folder.path().join("files").join(path));
        let finished = run_process(command, folder, MAX_OUTPUT_BYTES).await.map_err(from_io)?;
        match finished.end {
            RunEnd::Exited(status) if status.success() => {}
            RunEnd::Exited(status) => {
                let folder = finished.folder.path();
                return Err(KustomizeFailed::from_kustomize(status, &finished.messages, folder));
            }
            RunEnd::PrintedTooMuch => {
                let message = format!("The rendered manifests have more than {MAX_OUTPUT_BYTES} bytes.");
                return Err(KustomizeFailed::new(message, "Use fewer or smaller files."));
            }
            RunEnd::TimedOut => {
                let seconds = RUN_TIMEOUT.as_secs();
                let message = format!("Rendering the kustomization took longer than {seconds} s.");
                return Err(KustomizeFailed::new(message, "Use fewer or smaller files."));
            }
        }
        let text = String::from_utf8(finished.output).map_err(|_| {
            KustomizeFailed::new("The rendered manifests are not UTF-8.", "Correct the files.")
        })?;
        Ok(vec![SourceFile { name: "kustomization.yaml".to_owned(), text }])
    }
}

/// Writes the files below `root`. Their paths were checked when they were read from the commit.
fn write_files(root: &Path, files: &BTreeMap<String, Vec<u8>>) -> std::io::Result<()> {
    create_private_folder(root)?;
    for (path, bytes) in files {
        let target = root.join(path);
        if let Some(parent) = target.parent() {
            create_private_folder(parent)?;
        }
        write_private_file(&target, bytes)?;
    }
    Ok(())
}
