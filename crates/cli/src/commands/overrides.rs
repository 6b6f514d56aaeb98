//! `flotilla override`: changes of a workload on some clusters (S1-11, E-8). They belong to the draft, so they take effect
//! with the next publish.

use clap::{Args, Subcommand};
use domain::labels::LabelSelector;
use domain::overrides::{ClusterSelector, Override, Patch, PatchOp};
use domain::placement::FactSelector;
use domain::request::OverridePut;

use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};
use crate::placement::parse_facts;

pub mod assignment;
mod explain;
mod set;
mod unset;

/// The subcommands for overrides.
#[derive(Subcommand)]
pub enum OverrideCommand {
    /// List the overrides of the draft
    List {
        /// Name of the workload
        workload: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    /// Show one override with its changes
    Get {
        /// Name of the workload
        workload: String,
        /// Name of the override
        name: String,
        #[command(flatten)]
        output: OutputArgs,
    },
    Explain(explain::ExplainArgs),
    Set(set::SetArgs),
    Unset(unset::UnsetArgs),
}

/// Which override is changed: by its clusters, or by its name.
#[derive(Debug, Args)]
#[group(required = true, multiple = true)]
struct OverrideTargetArgs {
    /// On these clusters, by name
    #[arg(long = "cluster", value_delimiter = ',', value_name = "A,B")]
    clusters: Vec<String>,
    /// On the clusters of these groups
    #[arg(long = "group", value_delimiter = ',', value_name = "A,B")]
    groups: Vec<String>,
    /// On every cluster with these labels, such as env=prod
    #[arg(long, value_name = "SELECTOR")]
    selector: Option<String>,
    /// On every cluster with these confirmed facts, such as provider=aws,distribution=eks; with --selector, both must match
    #[arg(long, value_name = "SELECTOR")]
    facts: Option<String>,
    /// Name of the override [default: the one with exactly these clusters, or a new one named after them]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl OverrideCommand {
    /// The workload that the command names.
    pub fn workload(&self) -> &str {
        match self {
            Self::List { workload, .. } | Self::Get { workload, .. } => workload,
            Self::Explain(explain) => &explain.workload,
            Self::Set(set) => &set.workload,
            Self::Unset(unset) => &unset.workload,
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self {
            Self::List { workload, output } => print_list(remote, &workload, output.format, out).await?,
            Self::Get { workload, name, output } => {
                let found = remote.client.get_override(&workload, &name).await?;
                print_override(&found, output.format, out)?;
            }
            Self::Explain(explain) => explain.run(remote, out).await?,
            Self::Set(set) => set.run(remote, out).await?,
            Self::Unset(unset) => unset.run(remote, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

impl OverrideTargetArgs {
    /// The clusters of the flags; empty if none is set.
    fn to_selector(&self) -> Result<ClusterSelector, Failure> {
        let selector = self.selector.as_deref().map(str::parse::<LabelSelector>).transpose();
        let selector = selector.map_err(|error| {
            Failure::usage(format!("{error}."), "Write it as env=prod,region in (eu,us).")
        })?;
        // An unset variable in a script must not select every cluster.
        if selector.as_ref().is_some_and(LabelSelector::is_empty) {
            return Err(Failure::usage("--selector is empty.", "Name a label, or leave it out."));
        }
        let facts = self.facts.as_deref().map(parse_facts).transpose()?;
        if facts.as_ref().is_some_and(FactSelector::is_empty) {
            return Err(Failure::usage("--facts is empty.", "Name a fact, or leave it out."));
        }
        Ok(ClusterSelector {
            clusters: self.clusters.clone(),
            groups: self.groups.clone(),
            selector,
            field_selector: facts.unwrap_or_default(),
        })
    }

    /// The existing override that the flags name.
    fn find<'o>(
        &self,
        overrides: &'o [Override],
        target: &ClusterSelector,
    ) -> Result<Option<&'o Override>, Failure> {
        if let Some(name) = &self.name {
            return Ok(overrides.iter().find(|one| one.name == *name));
        }
        let found: Vec<&Override> = overrides.iter().filter(|one| one.target == *target).collect();
        match *found {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => {
                let names: Vec<&str> = found.iter().map(|one| &*one.name).collect();
                Err(Failure::usage(
                    format!("Several overrides have these clusters: {}.", names.join(", ")),
                    "Name one of them: --name NAME",
                ))
            }
        }
    }

    /// The name of a new override.
    fn new_name(&self) -> Result<String, Failure> {
        let has_selector = self.selector.is_some() || self.facts.is_some();
        match (&self.name, &*self.clusters, &*self.groups) {
            (Some(name), ..) => Ok(name.clone()),
            (None, [cluster], []) if !has_selector => Ok(cluster.clone()),
            (None, [], [group]) if !has_selector => Ok(group.clone()),
            _ => Err(Failure::usage(
                "A new override for several clusters, or for labels or facts, needs a name.",
                "Name it: --name NAME",
            )),
        }
    }
}

/// The content of an override that is saved again.
fn to_request(stored: &Override) -> OverridePut {
    let Override { target, priority, values, patches, .. } = stored.clone();
    OverridePut { target, priority, values, patches }
}

async fn print_list(
    remote: &ServerConnection,
    workload: &str,
    format: Format,
    out: &Printer,
) -> Result<(), Failure> {
    let overrides = remote.client.list_overrides(workload).await?;
    if format.is_machine() {
        return out.print_value(&overrides, format);
    }
    let mut table = Table::new(&["NAME", "CLUSTERS", "PRIORITY", "CHANGES"]);
    for one in &overrides {
        let row = table.add_row().text(&one.name).text(one.target.to_string()).number(one.priority);
        row.text(format_changes(one).join("; "));
    }
    let nothing = format!(
        "{workload} has no overrides yet: flotilla override set {workload} --cluster CLUSTER replicas=4"
    );
    out.print_table(&table, &nothing)
}

fn print_override(one: &Override, format: Format, out: &Printer) -> Result<(), Failure> {
    if format.is_machine() {
        return out.print_value(one, format);
    }
    out.print_line(&crate::output::sanitize(&format!(
        "{} on {}, priority {}",
        one.name, one.target, one.priority
    )))?;
    let lines = format_changes(one);
    lines.iter().try_for_each(|line| out.print_line(&format!("  {}", crate::output::sanitize(line))))
}

/// The changes of an override, one a line.
pub(super) fn format_changes(one: &Override) -> Vec<String> {
    let values = one.values.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let values = values.map(|line| format!("values: {line}"));
    values.chain(one.patches.iter().map(format_patch)).collect()
}

/// Object, path and value of a patch; without a value it removes the path.
fn format_patch_target(patch: &Patch) -> (String, String, Option<serde_json::Value>) {
    let object = patch.object.to_string();
    match &patch.op {
        PatchOp::Merge { value } => (object, "/".to_owned(), Some(value.clone())),
        PatchOp::Set { path, value } => (object, path.clone(), Some(value.clone())),
        PatchOp::Remove { path } => (object, path.clone(), None),
    }
}

fn format_patch(patch: &Patch) -> String {
    let object = &patch.object;
    match &patch.op {
        PatchOp::Merge { value } => format!("{object} merge {value}"),
        PatchOp::Set { path, value } => format!("{object} {path}={value}"),
        PatchOp::Remove { path } => format!("{object} {path} removed"),
    }
}
