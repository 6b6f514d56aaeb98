//! `flotilla apply`: manifests become a draft, or change one (S0-1, S3-3, R-1). What runs is not touched before a publish.

use std::path::PathBuf;

use clap::Args;
use domain::manifest;
use domain::placement::Decision;
use domain::rollout::RolloutStrategy;
use domain::workload::{NewWorkload, Source, Workload, WorkloadSpec, WorkloadView};
use serde::Serialize;
use serde_json::Value;
use wire::{Check, ValidateRequest, WorkloadPut};

use crate::definition::Definition;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::nearest::nearest;
use crate::output::{Format, Out, Output, summary};
use crate::placement::Where;
use crate::remote::Remote;
use crate::source::{self, Collected};

/// Times an edit is made anew because somebody else was faster.
const TRIES: u32 = 3;

/// Make a workload of manifests, or change its draft; nothing reaches a cluster before "flotilla publish"
#[derive(Args)]
pub struct Apply {
    /// Manifests: a file, a folder (its *.yaml, *.yml, *.json), a workload definition file, or - for stdin
    #[arg(short = 'f', long = "filename", required = true, value_name = "FILE|DIR|-")]
    filename: Vec<PathBuf>,
    /// Name of the workload [default: made of the file's or folder's name]
    #[arg(long, value_name = "WORKLOAD")]
    name: Option<String>,
    /// Namespace for objects that name none [default: what the workload has, else default]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    placement: Where,
    /// Make it an addon: on every cluster that matches, also on those that join later, by itself [default: what the
    /// workload has]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    addon: Option<bool>,
    /// How it is kept, as in deletion=orphan or ttlSecondsAfterFinished=60; lists are JSON [default: what the workload has]
    #[arg(long = "policy", value_name = "NAME=VALUE", value_parser = policy)]
    policies: Vec<(String, Value)>,
    /// How a publish spreads; said in the definition file alone.
    #[arg(skip)]
    rollout: Option<RolloutStrategy>,
    /// Only say what would be found and where it would go; store nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

/// What was done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum Action {
    Created,
    Changed,
    Unchanged,
    DryRun,
}

/// What programs read.
#[derive(Serialize)]
struct Applied<'a> {
    action: Action,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<&'a Workload>,
    check: &'a Check,
}

impl Apply {
    /// Runs it.
    pub async fn run(mut self, remote: &Remote, out: &Out) -> Result<Exit, Failure> {
        let collected = self.collect()?;
        let name = self.name(&collected)?;
        let (action, workload, spec) = if self.dry_run {
            let there = existing(remote, &name).await?;
            (Action::DryRun, None, self.spec(&collected, there.as_ref())?)
        } else {
            let (action, workload) = self.store(remote, &name, &collected).await?;
            let spec = workload.draft.clone();
            (action, Some(workload), spec)
        };
        let request = ValidateRequest { name: name.clone(), spec };
        let check = remote.client.workload_validate(&request).await?;
        if self.output.format.is_machine() {
            let applied = Applied { action, name: &name, workload: workload.as_ref(), check: &check };
            out.value(&applied, self.output.format)?;
        } else {
            out.line(&format!("workload/{name} {}", words(action)))?;
        }
        self.tell(&request, &check, &collected, out);
        Ok(if check.blocks() { Exit::Refused } else { Exit::Done })
    }

    /// The files, and what a definition file says where the flags say nothing.
    fn collect(&mut self) -> Result<Collected, Failure> {
        let Some(definition) = Definition::read(&self.filename)? else {
            return source::collect(&self.filename);
        };
        let paths = definition.payload(&self.filename[0]);
        if !self.placement.is_given() {
            self.placement = definition.placement();
        }
        self.name = self.name.take().or_else(|| definition.name.clone());
        self.namespace = self.namespace.take().or(definition.namespace);
        self.addon = self.addon.or(definition.addon);
        self.rollout = definition.rollout;
        // Flags win: what comes later replaces.
        self.policies.splice(0..0, definition.policies);
        source::collect(&paths)
    }

    fn name(&self, collected: &Collected) -> Result<String, Failure> {
        self.name.clone().or_else(|| collected.suggested.clone()).ok_or_else(|| {
            Failure::usage("There is no name to take from what -f names.", "Say it: --name WORKLOAD.")
        })
    }

    /// Makes the draft or changes it. Whoever was faster keeps what this command does not touch.
    async fn store(
        &self,
        remote: &Remote,
        name: &str,
        collected: &Collected,
    ) -> Result<(Action, Workload), Failure> {
        let mut tried = 0;
        loop {
            tried += 1;
            let there = existing(remote, name).await?;
            let spec = self.spec(collected, there.as_ref())?;
            let Some(there) = there else {
                let new = NewWorkload { name: name.to_owned(), spec, ..NewWorkload::default() };
                match remote.client.workload_create(&new).await {
                    Err(error) if error.code() == "Exists" && tried < TRIES => continue,
                    other => return Ok((Action::Created, other?)),
                }
            };
            if spec == there.workload.draft {
                return Ok((Action::Unchanged, there.workload));
            }
            let put = WorkloadPut { spec, labels: None };
            match remote.client.workload_put(name, &put, there.workload.revision).await {
                Err(error) if error.code() == "Changed" && tried < TRIES => {}
                other => return Ok((Action::Changed, other?)),
            }
        }
    }

    /// The draft: the new files, and what is there of everything else.
    fn spec(&self, collected: &Collected, there: Option<&WorkloadView>) -> Result<WorkloadSpec, Failure> {
        let mut spec = there.map(|view| view.workload.draft.clone()).unwrap_or_default();
        spec.source = Source::Yaml { files: collected.files.clone() };
        spec.placement = self.placement.on(spec.placement)?;
        spec.addon = self.addon.unwrap_or(spec.addon);
        spec.rollout = self.rollout.clone().unwrap_or(spec.rollout);
        let policies = self.policies.iter().cloned().collect();
        spec.policies = spec.policies.with(&policies).map_err(|why| {
            Failure::usage(
                format!("{why}."),
                "Write it as in --policy deletion=orphan, or under policies: in the definition file.",
            )
        })?;
        if let Some(namespace) = &self.namespace {
            spec.namespace.clone_from(namespace);
        } else if spec.namespace.is_empty() {
            "default".clone_into(&mut spec.namespace);
        }
        Ok(spec)
    }

    /// Findings, where it would go, and what comes next.
    fn tell(&self, request: &ValidateRequest, check: &Check, collected: &Collected, out: &Out) {
        let (name, spec) = (&request.name, &request.spec);
        if self.namespace.is_none() && spec.namespace == "default" && leaves_namespace_open(collected) {
            out.warn("Objects that name no namespace go to \"default\"; choose one with --namespace.");
        }
        out.note_findings(&check.findings, &|file| collected.shown(file));
        if !check.findings.is_empty() {
            out.note(&summary(&check.findings));
        }
        self.warn_of_unknown(&check.decision, out);
        if spec.placement.predicates.is_empty() {
            out.note(&format!(
                "{name} has no placement yet, so it would go nowhere. Say where: flotilla apply --name {name} -f {} \
                 --clusters A,B (or --selector KEY=VALUE, or --all-clusters)",
                self.filename[0].display()
            ));
        } else {
            out.note(&where_to(name, &check.decision));
        }
        if check.blocks() && self.dry_run {
            out.note("Publishing this would be refused until the errors are mended.");
        } else if check.blocks() {
            out.note("The draft is stored all the same; it can't be published until the errors are mended.");
        } else if !self.dry_run
            && check.decision.chosen().next().is_some()
            && self.output.format == Format::Table
        {
            out.note(&format!("Next: flotilla publish {name} --wait"));
        }
    }

    fn warn_of_unknown(&self, decision: &Decision, out: &Out) {
        let known: Vec<&str> = decision.verdicts.iter().map(|verdict| &*verdict.name).collect();
        for name in self.placement.names().filter(|name| !name.is_empty() && !known.contains(name)) {
            let near = nearest(name, known.iter().copied()).map(|near| format!(" Did you mean {near:?}?"));
            out.warn(&format!("There is no cluster {name:?}.{}", near.unwrap_or_default()));
        }
    }
}

/// Reads `NAME=VALUE`; a value that is no JSON is text.
fn policy(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in deletion=orphan")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

async fn existing(remote: &Remote, name: &str) -> Result<Option<WorkloadView>, Failure> {
    match remote.client.workload_get(name).await {
        Ok(view) => Ok(Some(view)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Whether any object takes the workload's namespace. Cluster-scoped ones are counted too: only clusters know them all.
fn leaves_namespace_open(collected: &Collected) -> bool {
    let open =
        |object: &serde_json::Value| object["metadata"]["namespace"].as_str().is_none_or(str::is_empty);
    manifest::parse(&collected.files).manifests.iter().any(|manifest| open(&manifest.object))
}

fn where_to(name: &str, decision: &Decision) -> String {
    const SHOWN: usize = 10;
    let chosen: Vec<&str> = decision.chosen().map(|verdict| &*verdict.name).collect();
    let all = decision.verdicts.len();
    if chosen.is_empty() {
        return format!(
            "{name} would go to none of the {all} clusters; \"flotilla explain placement {name}\" says why for each."
        );
    }
    let more = match chosen.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = chosen.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    format!("{name} would go to {} of {all} clusters: {named}{more}.", chosen.len())
}

const fn words(action: Action) -> &'static str {
    match action {
        Action::Created => "created (draft)",
        Action::Changed => "changed (draft)",
        Action::Unchanged => "unchanged",
        Action::DryRun => "checked (dry run, nothing stored)",
    }
}
