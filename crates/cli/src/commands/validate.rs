//! `flotilla validate`: the guard rails without any server, by the same code that the server and the browser run (E-1).

use std::path::PathBuf;

use clap::Args;
use domain::workload::{Source, WorkloadSpec};
use domain::{Finding, guard, manifest};
use serde::Serialize;

use crate::definition::Definition;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Output, summary};
use crate::source;

/// Check manifests against the guard rails, offline
#[derive(Args)]
pub struct Validate {
    /// Manifests: a file, a folder (its *.yaml, *.yml, *.json), a workload definition file, or - for stdin
    #[arg(short = 'f', long = "filename", required = true, value_name = "FILE|DIR|-")]
    filename: Vec<PathBuf>,
    /// Name of the workload [default: made of the file's or folder's name]
    #[arg(long, value_name = "WORKLOAD")]
    name: Option<String>,
    /// Namespace for objects that name none
    #[arg(short, long, default_value = "default", value_name = "NAMESPACE")]
    namespace: String,
    #[command(flatten)]
    output: Output,
}

/// What programs read.
#[derive(Serialize)]
struct Validated<'a> {
    valid: bool,
    objects: usize,
    findings: &'a [Finding],
}

impl Validate {
    /// Runs it.
    pub fn run(self, out: &Out) -> Result<Exit, Failure> {
        let definition = Definition::read(&self.filename)?;
        let collected = match &definition {
            Some(definition) => source::collect(&definition.payload(&self.filename[0]))?,
            None => source::collect(&self.filename)?,
        };
        let named = self.name.or_else(|| definition.and_then(|definition| definition.name));
        let name = named.or_else(|| collected.suggested.clone()).unwrap_or_else(|| "workload".to_owned());
        let parsed = manifest::parse(&collected.files);
        let source = Source::Yaml { files: collected.files.clone() };
        let spec = WorkloadSpec { namespace: self.namespace, source, ..WorkloadSpec::default() };
        let findings = guard::check_static(&name, &spec, &parsed);
        let valid = !findings.iter().any(Finding::blocks);
        let objects = parsed.manifests.len();
        if self.output.format.is_machine() {
            out.value(&Validated { valid, objects, findings: &findings }, self.output.format)?;
        } else {
            out.findings(&findings, &|file| collected.shown(file))?;
            let plural = if objects == 1 { "" } else { "s" };
            out.line(&format!("{objects} object{plural}: {}", summary(&findings)))?;
        }
        Ok(if valid { Exit::Done } else { Exit::Refused })
    }
}
