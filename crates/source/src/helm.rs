//! Charts rendered by the `helm` program: one process per distinct set of inputs, in the sandbox.
//!
//! Only `helm template` in client mode runs: no cluster, no network, no plugins, no update of dependencies. The output is one file
//! per template, by `--output-dir`: in one stream, a template could imitate the comments that separate templates.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use domain::bounded_json::count_values;
use domain::chart::ChartInputs;
use domain::chart_hook::is_test_hook;
use domain::generated_values::{GeneratedFields, find_generated_fields};
use domain::manifest;
use domain::secret_values::MAX_SCHEMA_VALUES;
use domain::workload::SourceFile;
use tokio::sync::Semaphore;

use crate::archive::ChartArchive;
use crate::sandbox::{RUN_TIMEOUT, RunEnd, Sandbox, run_process};
use crate::scratch::{create_private_folder, write_private_file};

mod failure;
mod find;
mod output;

pub use failure::{FailureKind, RenderFailed, ValuesViolation};
pub use find::{HelmUnavailable, MIN_VERSION};

/// Held while what Helm has written, or the values that it could not render, is parsed: by one rendering at a time, because it has up to 250 000
/// values, twice of a chart with random ones, and no memory is reserved for them. Its holder waits for nothing but its own work.
pub static PARSED_RENDERINGS: Semaphore = Semaphore::const_new(1);

/// What a template contains that reads the number of Helm's revision.
const RELEASE_REVISION: &str = "Release.Revision";
/// The function that reads objects of the cluster.
const LOOKUP: &str = "lookup";
/// Most bytes on the standard output: the names of the written files.
const MAX_PRINTED_BYTES: u64 = 1 << 20;

/// The `helm` program.
#[derive(Debug, Clone)]
pub struct Helm(Arc<HelmProgram>);

#[derive(Debug)]
struct HelmProgram {
    program: PathBuf,
    version: String,
    sandbox: Sandbox,
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
    /// The number of values of `values.schema.json`, if it has too many to be read. Helm has read it.
    pub unread_schema_values: Option<usize>,
    /// Files that read `.Release.Revision`, which is always 1.
    pub revision_files: Vec<String>,
    /// Templates that read objects of the cluster with `lookup`, which finds none.
    pub lookup_files: Vec<String>,
}

impl Helm {
    /// The version, such as `v4.2.4`.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Renders a chart with the inputs that it is prepared for. A chart that uses random values or the clock is rendered twice, to name what
    /// differs.
    ///
    /// # Errors
    /// The chart can't be rendered with these inputs, or exceeds a limit, or the sandbox is not closed.
    pub async fn render(
        &self,
        chart: PreparedChart,
        inputs: &ChartInputs,
    ) -> Result<RenderedChart, RenderFailed> {
        self.0.sandbox.check()?;
        let unchecked_schema_refs = chart.unchecked_schema_refs;
        let skip_schema = inputs.skip_schema_validation || !unchecked_schema_refs.is_empty();
        let run = HelmRun { name: &chart.name, packed: &chart.packed, inputs, skip_schema };
        let files = self.run(&run).await?;
        let (files, random_files, generated) = if chart.may_be_random {
            compare_runs(files, self.run(&run).await?).await?
        } else {
            (files, Vec::new(), GeneratedFields::default())
        };
        let (revision_files, lookup_files) = (chart.revision_files, chart.lookup_files);
        Ok(RenderedChart {
            files,
            random_files,
            generated,
            unchecked_schema_refs,
            unread_schema_values: chart.unread_schema_values,
            revision_files,
            lookup_files,
        })
    }

    async fn run(&self, run: &HelmRun<'_>) -> Result<Vec<SourceFile>, RenderFailed> {
        let folder = self.0.sandbox.create_folder("chart-").map_err(RenderFailed::from_io)?;
        let command = self.prepare(run, folder.path()).map_err(RenderFailed::from_io)?;
        let finished =
            run_process(command, folder, MAX_PRINTED_BYTES).await.map_err(RenderFailed::from_io)?;
        match finished.end {
            RunEnd::Exited(status) if status.success() => {}
            RunEnd::Exited(status) => {
                let folder = finished.folder.path();
                return Err(RenderFailed::from_helm(status, &finished.messages, folder, run.name));
            }
            RunEnd::PrintedTooMuch => return Err(RenderFailed::over_limits()),
            RunEnd::TimedOut => {
                let message = format!("Rendering the chart took longer than {} s.", RUN_TIMEOUT.as_secs());
                return Err(RenderFailed::new(FailureKind::Limit, message));
            }
        }
        let output = finished.folder.path().join("output").join(run.name);
        let read = tokio::task::spawn_blocking(move || output::read_files(&output)).await;
        read.map_err(|error| RenderFailed::from_io(error.into()))?
    }

    /// Writes the inputs into the folder, and builds the command that reads them.
    fn prepare(&self, run: &HelmRun<'_>, folder: &Path) -> std::io::Result<Command> {
        for name in ["output", "plugins"] {
            create_private_folder(&folder.join(name))?;
        }
        let chart = folder.join("chart.tgz");
        write_private_file(&chart, run.packed)?;
        // Helm 4.2.4 reads a values file of one line and n × 4096 bytes as empty unless a line break follows.
        let values = folder.join("values.yaml");
        write_private_file(&values, format!("{}\n", run.inputs.values.trim_end_matches('\n')).as_bytes())?;
        let inputs = run.inputs;
        let mut command = self.0.sandbox.build_command(&self.0.program, folder)?;
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
        command.env("HELM_PLUGINS", folder.join("plugins")).env("HELM_NO_PLUGINS", "1");
        Ok(command)
    }
}

/// What a rendering needs of a chart, so that the chart itself is not in memory while Helm runs.
#[derive(Debug)]
pub struct PreparedChart {
    name: String,
    packed: Vec<u8>,
    unchecked_schema_refs: Vec<String>,
    may_be_random: bool,
    revision_files: Vec<String>,
    lookup_files: Vec<String>,
    unread_schema_values: Option<usize>,
    values_schema: String,
}

impl PreparedChart {
    /// Reads a packed chart. It unpacks: call it off the async threads, with the memory of [`crate::archive::reserve_memory`].
    ///
    /// # Errors
    /// It is not a chart.
    pub fn read(archive: &[u8], inputs: &ChartInputs) -> Result<Self, RenderFailed> {
        let chart = ChartArchive::read(archive)
            .map_err(|rejected| RenderFailed::new(FailureKind::Archive, rejected.to_string()))?;
        let packed = chart.pack().map_err(RenderFailed::from_io)?;
        let schema_values = count_values(chart.values_schema().unwrap_or_default().as_bytes());
        let unchecked_schema_refs =
            if inputs.skip_schema_validation { Vec::new() } else { chart.remote_schema_refs() };
        Ok(Self {
            name: chart.metadata().name.clone(),
            packed,
            unchecked_schema_refs,
            may_be_random: chart.may_be_random(&inputs.values),
            revision_files: chart.files_with_text(RELEASE_REVISION),
            lookup_files: chart.templates_with_function(LOOKUP),
            unread_schema_values: (schema_values > MAX_SCHEMA_VALUES).then_some(schema_values),
            values_schema: chart.values_schema().unwrap_or_default().to_owned(),
        })
    }

    /// The text of `values.schema.json`, empty without one. It tells which values are secrets, if the rendering fails; the rendering itself
    /// reads the packed one.
    pub fn take_values_schema(&mut self) -> String {
        std::mem::take(&mut self.values_schema)
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

/// The files of the first run, the names of those that differ in the other one, and the generated fields in them.
async fn compare_runs(
    files: Vec<SourceFile>,
    again: Vec<SourceFile>,
) -> Result<(Vec<SourceFile>, Vec<String>, GeneratedFields), RenderFailed> {
    let alone = PARSED_RENDERINGS.acquire().await;
    let compare = move || {
        let differing = files.iter().filter(|file| !again.contains(file) && !has_only_tests(file));
        let random_files: Vec<String> = differing.map(|file| file.name.clone()).collect();
        let generated = if random_files.is_empty() {
            GeneratedFields::default()
        } else {
            find_generated_fields(&manifest::parse(&files), &manifest::parse(&again))
        };
        drop(alone);
        (files, random_files, generated)
    };
    tokio::task::spawn_blocking(compare).await.map_err(|error| RenderFailed::from_io(error.into()))
}

/// Whether a file has nothing but hooks for tests, which are named and never applied.
fn has_only_tests(file: &SourceFile) -> bool {
    let parsed = manifest::parse(std::slice::from_ref(file));
    !parsed.manifests.is_empty() && parsed.manifests.iter().all(|one| is_test_hook(&one.object))
}
