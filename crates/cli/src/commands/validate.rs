//! `flotilla validate`: runs the guard rails offline, with the code that server and browser run (E-1).

use std::path::PathBuf;

use clap::Args;
use domain::guard::ClusterSchemas;
use domain::schema::kubernetes_schema;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use domain::{Finding, fix, guard, manifest};
use serde::Serialize;

use crate::definition::WorkloadDefinition;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{OutputArgs, Printer, count_findings, sanitize};
use crate::source;

/// Check manifests against the guard rails, offline
#[derive(Args)]
pub struct ValidateArgs {
    /// Manifests: a file, a folder (its *.yaml, *.yml, *.json), a workload definition file, or - for stdin
    #[arg(short = 'f', long = "filename", required = true, value_name = "FILE|DIR|-")]
    filename: Vec<PathBuf>,
    /// Read the folders below the folders of -f too; hidden ones never
    #[arg(short = 'R', long)]
    recursive: bool,
    /// Name of the workload [default: derived from the file or folder name]
    #[arg(long, value_name = "WORKLOAD")]
    name: Option<String>,
    /// Namespace for objects that name none
    #[arg(short, long, default_value = "default", value_name = "NAMESPACE")]
    namespace: String,
    /// Apply unambiguous fixes to the files, and print them
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The output for programs.
#[derive(Serialize)]
struct ValidateOutput<'a> {
    valid: bool,
    objects: usize,
    findings: &'a [Finding],
    /// The findings that were fixed.
    #[serde(skip_serializing_if = "<[Finding]>::is_empty")]
    fixed: &'a [Finding],
}

impl ValidateArgs {
    /// Runs it.
    pub fn run(self, out: &Printer) -> Result<ExitStatus, Failure> {
        let definition = WorkloadDefinition::read(&self.filename)?;
        let collected = match &definition {
            Some(definition) => {
                source::collect_files(&definition.payload_paths(&self.filename[0]), self.recursive)?
            }
            None => source::collect_files(&self.filename, self.recursive)?,
        };
        let named = self.name.or_else(|| definition.and_then(|definition| definition.name));
        let name =
            named.or_else(|| collected.suggested_name.clone()).unwrap_or_else(|| "workload".to_owned());
        let mut checked = check_files(&name, &self.namespace, collected.files.clone());
        let mut fixed = Vec::new();
        if self.fix {
            collected.check_writable()?;
            (checked, fixed) = apply_fixes(&name, &self.namespace, checked);
            collected.write_changed_files(&checked.files)?;
        }
        let CheckedFiles { mut findings, objects, .. } = checked;
        findings.extend(collected.left_out.iter().cloned());
        let valid = !findings.iter().any(Finding::is_blocking);
        if self.output.format.is_machine() {
            out.print_value(
                &ValidateOutput { valid, objects, findings: &findings, fixed: &fixed },
                self.output.format,
            )?;
        } else {
            for finding in &fixed {
                out.print_line(&format_fix(finding, &|file| collected.display_path(file)))?;
            }
            out.print_findings(&findings, &|file| collected.display_path(file))?;
            let plural = if objects == 1 { "" } else { "s" };
            out.print_line(&format!("{objects} object{plural}: {}", count_findings(&findings)))?;
        }
        Ok(if valid { ExitStatus::Success } else { ExitStatus::Rejected })
    }
}

/// Files and their findings.
struct CheckedFiles {
    files: Vec<SourceFile>,
    objects: usize,
    findings: Vec<Finding>,
}

fn check_files(name: &str, namespace: &str, files: Vec<SourceFile>) -> CheckedFiles {
    let parsed = manifest::parse(&files);
    let source = Source::Yaml { files: files.clone() };
    let spec = WorkloadSpec { namespace: namespace.to_owned(), source, ..WorkloadSpec::default() };
    let findings =
        guard::check_static_with(&ClusterSchemas::from_schema(kubernetes_schema()), name, &spec, &parsed);
    CheckedFiles { files, objects: parsed.manifests.len(), findings }
}

/// Applies fixes repeatedly, at most 20 times: a fix may enable the next one.
fn apply_fixes(name: &str, namespace: &str, mut checked: CheckedFiles) -> (CheckedFiles, Vec<Finding>) {
    const ROUNDS: usize = 20;
    let mut fixed = Vec::new();
    for _ in 0..ROUNDS {
        let (files, done) = fix::apply_all(&checked.files, &checked.findings);
        if done.is_empty() {
            break;
        }
        fixed.extend(done.into_iter().cloned());
        checked = check_files(name, namespace, files);
    }
    (checked, fixed)
}

/// One line for an applied fix; its location is the one before the fix.
fn format_fix(finding: &Finding, shown: &dyn Fn(&str) -> String) -> String {
    let place = finding.location.as_ref().map(|place| format!("{}:{}: ", shown(&place.file), place.line));
    let does = finding.fix.as_ref().map_or("", |fix| &fix.description);
    sanitize(&format!("{}fixed[{}] {does}", place.unwrap_or_default(), finding.code))
}
