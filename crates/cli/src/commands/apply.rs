//! `flotilla apply`: creates or changes a draft from manifests (S0-1, S3-3, R-1). Clusters change only with a publish.

use std::path::PathBuf;

use clap::Args;
use domain::dependency::WorkloadDependency;
use domain::name_list::join_first;
use domain::nearest::find_nearest;
use domain::owner::normalize_owners;
use domain::placement::Decision;
use domain::rollout::RolloutStrategy;
use domain::workload::{NewWorkload, Source, Workload, WorkloadSpec, WorkloadView};
use domain::{Finding, manifest};
use serde::Serialize;
use serde_json::Value;
use wire::{ValidateRequest, ValidationResult, WorkloadPut};

use crate::chart_source::{ChartChange, ChartSourceArgs, read_values};
use crate::connection::ServerConnection;
use crate::definition::WorkloadDefinition;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::git_source::{GitChange, GitSourceArgs};
use crate::output::{Format, OutputArgs, Printer, count_findings};
use crate::placement::PlacementArgs;
use crate::source::{self, CollectedFiles};
use crate::unwrapped_source::UnwrappedSource;

/// Attempts to store the draft when it is changed concurrently.
const MAX_ATTEMPTS: u32 = 3;

/// Findings of text that can't be read as manifests, or not as a whole.
const UNREADABLE_CODES: [&str; 2] = ["G109", "G111"];

/// Create a workload from manifests or a chart, or change its draft; clusters change only with "flotilla publish"
#[derive(Args)]
pub struct ApplyArgs {
    /// Manifests: a file, a folder (its *.yaml, *.yml, *.json), a workload definition file, or - for stdin
    #[arg(short = 'f', long = "filename", required_unless_present_any = ["chart", "chart_version", "values", "release_name", "set", "set_string", "git", "oci", "reference", "path", "on_new_commit"], value_name = "FILE|DIR|-")]
    filename: Vec<PathBuf>,
    /// Make the chart that a HelmChart (K3s), HelmRelease (Flux) or Application (Argo CD) of the files names the source, instead of the files
    #[arg(long, requires = "filename")]
    unwrap_chart: bool,
    /// Read the folders below the folders of -f too; hidden ones never
    #[arg(short = 'R', long, requires = "filename")]
    recursive: bool,
    #[command(flatten)]
    chart: ChartSourceArgs,
    #[command(flatten)]
    git: GitSourceArgs,
    /// Name of the workload [default: derived from the file or folder name]
    #[arg(long, value_name = "WORKLOAD")]
    name: Option<String>,
    /// Namespace for objects that name none [default: unchanged; default for a new workload]
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    #[command(flatten)]
    placement: PlacementArgs,
    /// Make it an addon: deployed automatically to every cluster that matches, including those that join later [default:
    /// unchanged]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    addon: Option<bool>,
    /// A workload that has to be operational on a cluster before this one is delivered there; repeat the flag for several, none
    /// with --depends-on= [default: unchanged]
    #[arg(long = "depends-on", value_name = "WORKLOAD")]
    depends_on: Option<Vec<String>>,
    /// A policy, such as deletion=orphan or ttlSecondsAfterFinished=60; lists are JSON [default: unchanged]
    #[arg(long = "policy", value_name = "NAME=VALUE", value_parser = parse_policy)]
    policies: Vec<(String, Value)>,
    /// An owner, who is notified of incidents: a user, a team or an e-mail address; repeat the flag for several [default:
    /// unchanged; for a new workload the user]
    #[arg(long = "owner", value_name = "OWNER")]
    owners: Option<Vec<String>>,
    /// Roll back a cluster on which a revision fails for the time failAfter of the rollout: it returns to the revision before, and a
    /// first installation is removed [default: unchanged]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    atomic: Option<bool>,
    /// The dependencies of the definition file.
    #[arg(skip)]
    dependencies: Option<Vec<WorkloadDependency>>,
    /// The rollout strategy, which only the definition file can set.
    #[arg(skip)]
    rollout: Option<RolloutStrategy>,
    /// Only print findings and placement; store nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: OutputArgs,
}

/// The result of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum ApplyAction {
    Created,
    Changed,
    Unchanged,
    DryRun,
}

/// The output for programs.
#[derive(Serialize)]
struct ApplyOutput<'a> {
    action: ApplyAction,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    workload: Option<&'a Workload>,
    check: &'a ValidationResult,
}

impl ApplyArgs {
    /// Runs it.
    pub async fn run(mut self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        let collected = self.collect_source(remote, out).await?;
        let name = self.workload_name(&collected)?;
        if !self.dry_run {
            reject_unreadable(&collected, out)?;
        }
        let (action, workload, spec) = if self.dry_run {
            let there = find_workload(remote, &name).await?;
            (ApplyAction::DryRun, None, self.build_spec(&collected, there.as_ref())?)
        } else {
            let (action, workload) = self.store_draft(remote, &name, &collected).await?;
            let spec = workload.draft.clone();
            (action, Some(workload), spec)
        };
        let request = ValidateRequest { name: name.clone(), spec };
        let check = remote.client.validate_workload(&request).await?;
        if self.output.format.is_machine() {
            let applied = ApplyOutput { action, name: &name, workload: workload.as_ref(), check: &check };
            out.print_value(&applied, self.output.format)?;
        } else {
            out.print_line(&format!("workload/{name} {}", action_label(action)))?;
        }
        self.print_result(&request, &check, &collected, out);
        Ok(if check.is_blocking() { ExitStatus::Rejected } else { ExitStatus::Success })
    }

    /// Collects the source: the chart of the flags or of a definition file, or files.
    async fn collect_source(
        &mut self,
        remote: &ServerConnection,
        out: &Printer,
    ) -> Result<CollectedSource, Failure> {
        let is_named = self.chart.is_set() || self.git.is_set();
        let files = if is_named { None } else { self.collect_files()? };
        if self.unwrap_chart && files.is_none() {
            return Err(Failure::usage(
                "--unwrap-chart needs the manifests with the object, and the definition names another source.",
                "Name the file of the object: flotilla apply -f FILE --unwrap-chart",
            ));
        }
        if self.git.is_set() {
            let values = self.chart.values.as_deref().map(read_values).transpose()?;
            let change = self.git.clone().into_change(values, self.chart.release_name.clone());
            return Ok(CollectedSource::Git(change));
        }
        match files {
            Some(files) if self.unwrap_chart => {
                let unwrapped = UnwrappedSource::read(files, remote, out).await?;
                Ok(CollectedSource::Unwrapped(Box::new(unwrapped)))
            }
            Some(files) => Ok(CollectedSource::Files(files)),
            None => Ok(CollectedSource::Chart(self.chart.resolve(remote, self.dry_run).await?)),
        }
    }

    /// Collects the files, and takes values from a definition file where no flag is set.
    /// `None` if the definition names a chart.
    fn collect_files(&mut self) -> Result<Option<CollectedFiles>, Failure> {
        let Some(definition) = WorkloadDefinition::read(&self.filename)? else {
            return source::collect_files(&self.filename, self.recursive).map(Some);
        };
        let paths = definition.payload_paths(&self.filename[0]);
        self.chart = definition.chart_args(&self.filename[0]);
        self.git = definition.git_args();
        if !self.placement.is_set() {
            self.placement = definition.placement_args();
        }
        self.name = self.name.take().or_else(|| definition.name.clone());
        self.owners = self.owners.take().or_else(|| definition.owner_names());
        self.namespace = self.namespace.take().or(definition.namespace);
        self.addon = self.addon.or(definition.addon);
        self.dependencies = definition.depends_on;
        self.rollout = definition.rollout;
        // Flags take precedence: a later entry replaces an earlier one.
        self.policies.splice(0..0, definition.policies);
        if self.chart.is_set() || self.git.is_set() {
            return Ok(None);
        }
        source::collect_files(&paths, self.recursive).map(Some)
    }

    fn workload_name(&self, collected: &CollectedSource) -> Result<String, Failure> {
        self.name.clone().or_else(|| collected.suggested_name()).ok_or_else(|| {
            Failure::usage("No workload name can be derived from the source.", "Name it: --name WORKLOAD.")
        })
    }

    /// Creates or changes the draft. Concurrent changes of fields that this command does not set are retained.
    async fn store_draft(
        &self,
        remote: &ServerConnection,
        name: &str,
        collected: &CollectedSource,
    ) -> Result<(ApplyAction, Workload), Failure> {
        let mut tried = 0;
        loop {
            tried += 1;
            let there = find_workload(remote, name).await?;
            let spec = self.build_spec(collected, there.as_ref())?;
            let Some(there) = there else {
                let owners = self.owners.clone().unwrap_or_default();
                let new = NewWorkload { name: name.to_owned(), owners, spec, ..NewWorkload::default() };
                match remote.client.create_workload(&new).await {
                    Err(error) if error.code() == "AlreadyExists" && tried < MAX_ATTEMPTS => continue,
                    other => return Ok((ApplyAction::Created, other?)),
                }
            };
            if spec == there.workload.draft && !self.changes_owners(&there.workload) {
                return Ok((ApplyAction::Unchanged, there.workload));
            }
            let put = WorkloadPut { spec, owners: self.owners.clone(), labels: None };
            match remote.client.put_workload(name, &put, there.workload.revision).await {
                Err(error) if error.code() == "RevisionConflict" && tried < MAX_ATTEMPTS => {}
                other => {
                    let stored = other?;
                    let is_same = stored.revision == there.workload.revision;
                    let action = if is_same { ApplyAction::Unchanged } else { ApplyAction::Changed };
                    return Ok((action, stored));
                }
            }
        }
    }

    fn changes_owners(&self, there: &Workload) -> bool {
        let owners = self.owners.as_ref().map(|owners| normalize_owners(owners, &there.created_by));
        owners.is_some_and(|owners| owners != there.owners)
    }

    /// The new draft: the collected files and flags, and everything else from the stored draft.
    fn build_spec(
        &self,
        collected: &CollectedSource,
        there: Option<&WorkloadView>,
    ) -> Result<WorkloadSpec, Failure> {
        let mut spec = there.map(|view| view.workload.draft.clone()).unwrap_or_default();
        match collected {
            CollectedSource::Unwrapped(unwrapped) => unwrapped.apply_to(&mut spec),
            _ => spec.source = collected.build_source(&spec.source)?,
        }
        spec.placement = self.placement.apply_to(spec.placement)?;
        spec.addon = self.addon.unwrap_or(spec.addon);
        if let Some(names) = &self.depends_on {
            spec.depends_on = WorkloadDependency::from_names(names.iter().map(String::as_str));
        } else if let Some(dependencies) = &self.dependencies {
            spec.depends_on.clone_from(dependencies);
        }
        spec.rollout = self.rollout.clone().unwrap_or(spec.rollout);
        if let Some(is_atomic) = self.atomic {
            spec.rollout.set_cluster_rollback(is_atomic);
        }
        let policies = self.policies.iter().cloned().collect();
        spec.policies = spec.policies.with_values(&policies).map_err(|why| {
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

    /// Prints findings, placement and the next command on stderr.
    fn print_result(
        &self,
        request: &ValidateRequest,
        check: &ValidationResult,
        collected: &CollectedSource,
        out: &Printer,
    ) {
        let (name, spec) = (&request.name, &request.spec);
        if self.namespace.is_none() && spec.namespace == "default" && collected.has_object_without_namespace()
        {
            out.print_warning("Objects without a namespace go to \"default\"; set one with --namespace.");
        }
        if let CollectedSource::Unwrapped(unwrapped) = collected {
            unwrapped.print_not_carried(&spec.policies, out);
        }
        let findings = [&check.findings[..], collected.left_out()].concat();
        out.print_findings_note(&findings, &|file| collected.display_path(file));
        if !findings.is_empty() {
            out.print_note(&count_findings(&findings));
        }
        self.warn_unknown_clusters(&check.decision, out);
        if spec.placement.predicates.is_empty() {
            let source = match self.filename.first() {
                Some(file) if self.unwrap_chart => format!("-f {} --unwrap-chart", file.display()),
                Some(file) => format!("-f {}", file.display()),
                None => match &spec.source {
                    Source::Git(source) => format!("--git {}", source.repository),
                    Source::Oci(source) => format!("--oci {}", source.repository),
                    other => format!("--chart {}", other.chart().map_or("", |source| &source.chart)),
                },
            };
            out.print_note(&format!(
                "{name} has no placement yet, so it would go to no cluster. Select clusters: flotilla apply --name {name} {source} \
                 --clusters A,B (or --selector KEY=VALUE, or --all-clusters)",
            ));
        } else {
            out.print_note(&describe_placement(name, &check.decision));
        }
        if check.is_blocking() && self.dry_run {
            out.print_note("A publish would be rejected until the errors are fixed.");
        } else if check.is_blocking() {
            out.print_note("The draft is stored, but it can't be published until the errors are fixed.");
        } else if !self.dry_run
            && check.decision.selected().next().is_some()
            && self.output.format == Format::Table
        {
            out.print_note(&format!("Next: flotilla publish {name} --wait"));
        }
    }

    fn warn_unknown_clusters(&self, decision: &Decision, out: &Printer) {
        let known: Vec<&str> = decision.evaluations.iter().map(|evaluation| &*evaluation.name).collect();
        for name in self.placement.cluster_names().filter(|name| !name.is_empty() && !known.contains(name)) {
            let near =
                find_nearest(name, known.iter().copied()).map(|near| format!(" Did you mean {near:?}?"));
            out.print_warning(&format!("There is no cluster {name:?}.{}", near.unwrap_or_default()));
        }
    }
}

/// Parses `NAME=VALUE`; a value that is not JSON is text.
fn parse_policy(text: &str) -> Result<(String, Value), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, as in deletion=orphan")?;
    Ok((name.to_owned(), serde_json::from_str(value).unwrap_or_else(|_| value.into())))
}

/// Rejects text that is not a list of manifests: a draft without the objects of that text would publish as if they were
/// removed. Every other error is reported after the draft is stored, because it can be corrected there.
fn reject_unreadable(collected: &CollectedSource, out: &Printer) -> Result<(), Failure> {
    let CollectedSource::Files(files) = collected else { return Ok(()) };
    let mut findings = manifest::parse(&files.files).findings;
    findings.retain(|finding| UNREADABLE_CODES.contains(&&*finding.code));
    if findings.is_empty() {
        return Ok(());
    }
    out.print_findings_note(&findings, &|file| collected.display_path(file));
    Err(Failure::with_exit(
        ExitStatus::Rejected,
        format!("Nothing is stored: {} in the manifests.", count_findings(&findings)),
        "Correct the text and run this again; \"flotilla validate -f FILE\" checks it without a server.",
    ))
}

async fn find_workload(remote: &ServerConnection, name: &str) -> Result<Option<WorkloadView>, Failure> {
    match remote.client.get_workload(name).await {
        Ok(view) => Ok(Some(view)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The source of the new draft.
enum CollectedSource {
    Files(CollectedFiles),
    Chart(ChartChange),
    Git(GitChange),
    Unwrapped(Box<UnwrappedSource>),
}

impl CollectedSource {
    fn suggested_name(&self) -> Option<String> {
        match self {
            Self::Files(files) => files.suggested_name.clone(),
            Self::Chart(change) => change.suggested_name(),
            Self::Git(change) => change.suggested_name(),
            Self::Unwrapped(unwrapped) => unwrapped.suggested_name.clone(),
        }
    }

    /// Warnings about files that are left out.
    fn left_out(&self) -> &[Finding] {
        match self {
            Self::Files(files) => &files.left_out,
            Self::Chart(_) | Self::Git(_) | Self::Unwrapped(_) => &[],
        }
    }

    fn build_source(&self, current: &Source) -> Result<Source, Failure> {
        match self {
            Self::Files(files) => Ok(Source::Yaml { files: files.files.clone() }),
            Self::Chart(change) => change.apply_to(current.chart()),
            Self::Git(change) => change.apply_to(current.remote()),
            Self::Unwrapped(unwrapped) => Ok(unwrapped.source.clone()),
        }
    }

    /// The path of a file as the user gave it; the path in the chart for a rendered template.
    fn display_path(&self, file: &str) -> String {
        match self {
            Self::Files(files) => files.display_path(file),
            Self::Chart(_) | Self::Git(_) | Self::Unwrapped(_) => file.to_owned(),
        }
    }

    /// Whether any object has no namespace. Cluster-scoped objects count too, because only clusters know all their kinds.
    /// Objects of charts rarely have one.
    fn has_object_without_namespace(&self) -> bool {
        let Self::Files(files) = self else { return true };
        let open =
            |object: &serde_json::Value| object["metadata"]["namespace"].as_str().is_none_or(str::is_empty);
        manifest::parse(&files.files).manifests.iter().any(|manifest| open(&manifest.object))
    }
}

fn describe_placement(name: &str, decision: &Decision) -> String {
    const SHOWN: usize = 10;
    let selected: Vec<&str> = decision.selected().map(|evaluation| &*evaluation.name).collect();
    let all = decision.evaluations.len();
    if selected.is_empty() {
        return format!(
            "{name} would go to none of the {all} clusters; \"flotilla explain placement {name}\" explains each."
        );
    }
    let named = join_first(&selected, SHOWN);
    format!("{name} would go to {} of {all} clusters: {named}.", selected.len())
}

const fn action_label(action: ApplyAction) -> &'static str {
    match action {
        ApplyAction::Created => "created (draft)",
        ApplyAction::Changed => "changed (draft)",
        ApplyAction::Unchanged => "unchanged",
        ApplyAction::DryRun => "checked (dry run, nothing stored)",
    }
}
