//! Charts rendered by the `helm` program: one process per distinct set of inputs, in the sandbox.
//!
//! Only `helm template` in client mode runs: no cluster, no network, no plugins, no update of dependencies. The output is one file
//! per template, by `--output-dir`: in one stream, a template could imitate the comments that separate templates.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use domain::chart::ChartInputs;
use domain::chart_hook::is_test_hook;
use domain::generated_values::{GeneratedFields, find_generated_fields};
use domain::manifest;
use domain::workload::SourceFile;
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};
use tokio::sync::Semaphore;

use crate::archive::ChartArchive;
use crate::sandbox::{self, Protections};

mod failure;
mod find;
mod output;

pub use failure::{FailureKind, RenderFailed, SchemaViolation};
pub use find::{HelmUnavailable, MIN_VERSION};

/// Wall-clock time of one run.
const RUN_TIMEOUT: Duration = Duration::from_secs(30);
/// What a template contains that reads the number of Helm's revision.
const RELEASE_REVISION: &str = "Release.Revision";
/// Bytes of messages that are read from a run; one that prints more is ended.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;

/// The `helm` program.
#[derive(Debug, Clone)]
pub struct Helm(Arc<HelmProgram>);

#[derive(Debug)]
struct HelmProgram {
    program: PathBuf,
    version: String,
    /// The program and first arguments that enter the sandbox.
    sandbox: Vec<OsString>,
    protections: Protections,
    /// One run per core: more would only make each slower.
    runs: Semaphore,
}

/// The output of a chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RenderedChart {
    /// The rendered templates by their path in the chart, and its CRDs.
    pub files: Vec<SourceFile>,
    /// Files that differ between two runs with the same inputs.
    pub random_files: Vec<String>,
    /// What differs in their objects.
    pub generated: GeneratedFields,
    /// Addresses that a values schema refers to. They are not fetched, so the values were not checked.
    pub unchecked_schema_refs: Vec<String>,
    /// Files that read `.Release.Revision`, which is always 1.
    pub revision_files: Vec<String>,
}

impl Helm {
    /// The version, such as `v4.2.4`.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// The protections of the sandbox that this kernel offers.
    pub fn protections(&self) -> Protections {
        self.0.protections
    }

    /// Renders a chart. A chart that uses random values or the clock is rendered twice, to name what differs.
    ///
    /// # Errors
    /// The chart can't be rendered with these inputs, or exceeds a limit.
    pub async fn render(&self, archive: &[u8], inputs: &ChartInputs) -> Result<RenderedChart, RenderFailed> {
        let chart = ChartArchive::read(archive)
            .map_err(|rejected| RenderFailed::new(FailureKind::Archive, rejected.to_string()))?;
        let packed = chart.pack().map_err(RenderFailed::from_io)?;
        let name = &chart.metadata().name;
        let unchecked_schema_refs =
            if inputs.skip_schema_validation { Vec::new() } else { chart.remote_schema_refs() };
        let skip_schema = inputs.skip_schema_validation || !unchecked_schema_refs.is_empty();
        let run = HelmRun { name, packed: &packed, inputs, skip_schema };
        let files = self.run(&run).await?;
        let (mut random_files, mut generated) = (Vec::new(), GeneratedFields::default());
        if chart.may_be_random(&inputs.values) {
            let again = self.run(&run).await?;
            let differing = files.iter().filter(|file| !again.contains(file) && !has_only_tests(file));
            random_files = differing.map(|file| file.name.clone()).collect();
            if !random_files.is_empty() {
                generated = find_generated_fields(&manifest::parse(&files), &manifest::parse(&again));
            }
        }
        let revision_files = chart.files_with_text(RELEASE_REVISION);
        Ok(RenderedChart { files, random_files, generated, unchecked_schema_refs, revision_files })
    }

    async fn run(&self, run: &HelmRun<'_>) -> Result<Vec<SourceFile>, RenderFailed> {
        let _permit = self
            .0
            .runs
            .acquire()
            .await
            .map_err(|_| RenderFailed::new(FailureKind::Server, "The server is stopping."))?;
        let folder = TempDir::with_prefix("flotilla-chart-").map_err(RenderFailed::from_io)?;
        let mut child = self.start(run, folder.path()).map_err(RenderFailed::from_io)?;
        let finished = tokio::time::timeout(RUN_TIMEOUT, wait_for(&mut child)).await;
        let (status, messages) = match finished {
            Ok(finished) => finished.map_err(RenderFailed::from_io)?,
            Err(_) => {
                // Dropping the child kills it as well; here its end is awaited before the folder is deleted.
                let _ = child.kill().await;
                let seconds = RUN_TIMEOUT.as_secs();
                return Err(RenderFailed::new(
                    FailureKind::Limit,
                    format!("Rendering the chart took longer than {seconds} s."),
                ));
            }
        };
        if !status.success() {
            return Err(RenderFailed::from_helm(status, &messages, run.name));
        }
        let output = folder.path().join("output").join(run.name);
        let read = tokio::task::spawn_blocking(move || output::read_files(&output)).await;
        read.map_err(|error| RenderFailed::from_io(error.into()))?
    }

    fn start(&self, run: &HelmRun<'_>, folder: &Path) -> std::io::Result<Child> {
        for name in ["home", "output", "plugins"] {
            std::fs::create_dir(folder.join(name))?;
        }
        let chart = folder.join("chart.tgz");
        std::fs::write(&chart, run.packed)?;
        // Helm 4.2.4 reads a values file of one line and n × 4096 bytes as empty unless a line break follows.
        let values = folder.join("values.yaml");
        std::fs::write(&values, format!("{}\n", run.inputs.values.trim_end_matches('\n')))?;
        let inputs = run.inputs;
        let (command, first) =
            self.0.sandbox.split_first().ok_or_else(|| std::io::Error::other("no sandbox"))?;
        let mut command = Command::new(command);
        command.args(first);
        command.args(sandbox::build_arguments(
            &[&self.0.program, Path::new("/dev/null")],
            folder,
            &self.0.program,
        ));
        command
            .args(["template", "--output-dir"])
            .arg(folder.join("output"))
            // Tests are rendered as well: a note names them.
            .args(["--include-crds", "--namespace"])
            .arg(&inputs.namespace)
            .arg("--values")
            .arg(values);
        if !inputs.kubernetes_version.is_empty() {
            command.arg("--kube-version").arg(&inputs.kubernetes_version);
        }
        if inputs.is_upgrade {
            command.arg("--is-upgrade");
        }
        if run.skip_schema {
            command.arg("--skip-schema-validation");
        }
        for version in &inputs.api_versions {
            command.arg("--api-versions").arg(version);
        }
        // Neither can be read as an option: what follows `--` is not, and names were checked before.
        command.arg("--").arg(&inputs.release_name).arg(chart);
        command
            .env_clear()
            .env("HOME", folder.join("home"))
            .env("HELM_PLUGINS", folder.join("plugins"))
            .env("HELM_NO_PLUGINS", "1")
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

/// One run.
struct HelmRun<'a> {
    /// Name of the chart.
    name: &'a str,
    packed: &'a [u8],
    inputs: &'a ChartInputs,
    /// Whether the values schema is not used, because parts of it are elsewhere or the workload requires it.
    skip_schema: bool,
}

/// Whether a file has nothing but hooks for tests, which are named and never applied.
fn has_only_tests(file: &SourceFile) -> bool {
    let parsed = manifest::parse(std::slice::from_ref(file));
    !parsed.manifests.is_empty() && parsed.manifests.iter().all(|one| is_test_hook(&one.object))
}

/// Waits for the end of a run and reads its messages. One that prints too much is killed.
async fn wait_for(child: &mut Child) -> std::io::Result<(std::process::ExitStatus, String)> {
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let (out, err) = tokio::join!(read_messages(out), read_messages(err));
    let messages = match (out?, err?) {
        // The names of the written files are on the standard output.
        (Some(_), Some(messages)) => messages,
        _ => {
            child.kill().await?;
            "Error: the run printed too much".to_owned()
        }
    };
    Ok((child.wait().await?, messages))
}

/// The text of a stream; `None` if it is too long.
async fn read_messages(stream: Option<impl AsyncRead + Unpin>) -> std::io::Result<Option<String>> {
    let Some(stream) = stream else { return Ok(Some(String::new())) };
    let mut bytes = Vec::new();
    stream.take(MAX_MESSAGE_BYTES + 1).read_to_end(&mut bytes).await?;
    Ok((bytes.len() as u64 <= MAX_MESSAGE_BYTES).then(|| String::from_utf8_lossy(&bytes).into_owned()))
}
