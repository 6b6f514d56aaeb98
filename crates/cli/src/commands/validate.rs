//! `flotilla validate`: the guard rails without any server, by the same code that the server and the browser run (E-1).

use std::path::PathBuf;

use clap::Args;
use domain::guard::Known;
use domain::schema::kubernetes;
use domain::workload::{Source, SourceFile, WorkloadSpec};
use domain::{Finding, fix, guard, manifest};
use serde::Serialize;

use crate::definition::Definition;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output::{Out, Output, clean, summary};
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
    /// Write into the files what can be put right in one way only, and say what that was
    #[arg(long)]
    fix: bool,
    #[command(flatten)]
    output: Output,
}

/// What programs read.
#[derive(Serialize)]
struct Validated<'a> {
    valid: bool,
    objects: usize,
    findings: &'a [Finding],
    /// What was put right, as it was found.
    #[serde(skip_serializing_if = "<[Finding]>::is_empty")]
    fixed: &'a [Finding],
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
        let mut checked = check(&name, &self.namespace, collected.files.clone());
        let mut fixed = Vec::new();
        if self.fix {
            collected.check_writable()?;
            (checked, fixed) = mend(&name, &self.namespace, checked);
            collected.write(&checked.files)?;
        }
        let Checked { findings, objects, .. } = checked;
        let valid = !findings.iter().any(Finding::blocks);
        if self.output.format.is_machine() {
            out.value(&Validated { valid, objects, findings: &findings, fixed: &fixed }, self.output.format)?;
        } else {
            for finding in &fixed {
                out.line(&said(finding, &|file| collected.shown(file)))?;
            }
            out.findings(&findings, &|file| collected.shown(file))?;
            let plural = if objects == 1 { "" } else { "s" };
            out.line(&format!("{objects} object{plural}: {}", summary(&findings)))?;
        }
        Ok(if valid { Exit::Done } else { Exit::Refused })
    }
}

/// Files and what the guard rails say of them.
struct Checked {
    files: Vec<SourceFile>,
    objects: usize,
    findings: Vec<Finding>,
}

fn check(name: &str, namespace: &str, files: Vec<SourceFile>) -> Checked {
    let parsed = manifest::parse(&files);
    let source = Source::Yaml { files };
    let spec = WorkloadSpec { namespace: namespace.to_owned(), source, ..WorkloadSpec::default() };
    let findings = guard::check_static_with(&Known::of(kubernetes()), name, &spec, &parsed);
    let Source::Yaml { files } = spec.source;
    Checked { files, objects: parsed.manifests.len(), findings }
}

/// Applies what can be fixed, again and again: one fix may make room for the next.
fn mend(name: &str, namespace: &str, mut checked: Checked) -> (Checked, Vec<Finding>) {
    const ROUNDS: usize = 20;
    let mut fixed = Vec::new();
    for _ in 0..ROUNDS {
        let (files, done) = fix::apply_all(&checked.files, &checked.findings);
        if done.is_empty() {
            break;
        }
        fixed.extend(done.into_iter().cloned());
        checked = check(name, namespace, files);
    }
    (checked, fixed)
}

/// One line about what was put right; its place is the one before.
fn said(finding: &Finding, shown: &dyn Fn(&str) -> String) -> String {
    let place = finding.place.as_ref().map(|place| format!("{}:{}: ", shown(&place.file), place.line));
    let does = finding.fix.as_ref().map_or("", |fix| &fix.does);
    clean(&format!("{}fixed[{}] {does}", place.unwrap_or_default(), finding.code))
}
