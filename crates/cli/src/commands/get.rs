//! `flotilla get`: lists workloads or clusters, or shows one.

use clap::Args;
use domain::rollup::ReleaseCounts;
use domain::workload::{Intent, WorkloadSummary, WorkloadView};

use super::{CommandTarget, cluster};
use crate::clock;
use crate::connection::ServerConnection;
use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::{Format, OutputArgs, Printer, Table};
use crate::pages::list_all_pages;

/// List workloads or clusters, or show one
#[derive(Args)]
pub struct GetArgs {
    /// workloads, clusters, or the name of a workload
    #[arg(default_value = "workloads", value_name = "WHAT")]
    kind_or_name: String,
    /// Only the one with this name, as in: get cluster eu-1
    name: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

/// What to show.
enum GetTarget<'a> {
    Workloads,
    Clusters,
    Workload(&'a str),
    Cluster(&'a str),
}

impl GetArgs {
    fn parse_target(&self) -> Result<GetTarget<'_>, Failure> {
        match (&*self.kind_or_name, self.name.as_deref()) {
            ("workload" | "workloads", None) => Ok(GetTarget::Workloads),
            ("workload" | "workloads", Some(name)) => Ok(GetTarget::Workload(name)),
            ("cluster" | "clusters", None) => Ok(GetTarget::Clusters),
            ("cluster" | "clusters", Some(name)) => Ok(GetTarget::Cluster(name)),
            (name, None) => Ok(GetTarget::Workload(name)),
            (what, Some(_)) => Err(Failure::usage(
                format!("{what:?} can't be listed."),
                "Only workloads and clusters can be listed, for example: flotilla get cluster eu-1",
            )),
        }
    }

    /// The resource that the command names.
    pub fn target(&self) -> CommandTarget {
        match self.parse_target() {
            Ok(GetTarget::Workload(name)) => CommandTarget::Workload(name.to_owned()),
            Ok(GetTarget::Cluster(name)) => CommandTarget::Cluster(name.to_owned()),
            _ => CommandTarget::Unspecified,
        }
    }

    /// Runs it.
    pub async fn run(self, remote: &ServerConnection, out: &Printer) -> Result<ExitStatus, Failure> {
        match self.parse_target()? {
            GetTarget::Workloads => print_list(remote, self.output.format, out).await?,
            GetTarget::Clusters => cluster::print_list(remote, self.output.format, out).await?,
            GetTarget::Workload(name) => print_workload(remote, name, self.output.format, out).await?,
            GetTarget::Cluster(name) => cluster::print_cluster(remote, name, self.output.format, out).await?,
        }
        Ok(ExitStatus::Success)
    }
}

/// Lists all workloads, page by page.
pub async fn list_workloads(remote: &ServerConnection) -> Result<Vec<WorkloadSummary>, Failure> {
    Ok(list_all_pages(async |query| remote.client.list_workloads(&query).await).await?)
}

/// The names of all workloads.
pub async fn list_workload_names(remote: &ServerConnection) -> Result<Vec<String>, Failure> {
    Ok(list_workloads(remote).await?.into_iter().map(|workload| workload.name).collect())
}

/// Prints all workloads.
pub async fn print_list(remote: &ServerConnection, format: Format, out: &Printer) -> Result<(), Failure> {
    let workloads = list_workloads(remote).await?;
    if format.is_machine() {
        return out.print_value(&workloads, format);
    }
    let now = clock::now();
    let wide = format == Format::Wide;
    let mut head = vec!["NAME", "PHASE", "REVISION", "HEALTHY", "STATES", "CHANGED"];
    if wide {
        head.extend(["NAMESPACE", "BY"]);
    }
    let mut table = Table::new(&head);
    for workload in &workloads {
        let row = table.add_row().text(&workload.name).text(workload.phase.label());
        let row = row
            .text(format_revision(workload.published, workload.draft_changed))
            .text(format_healthy(&workload.counts));
        let row = row.text(format_states(&workload.counts)).text(workload.updated_at.format_age(now));
        if wide {
            row.text(&workload.namespace).text(&workload.updated_by);
        }
    }
    out.print_table(&table, "There are no workloads yet: flotilla apply -f ./manifests --clusters A,B")
}

async fn print_workload(
    remote: &ServerConnection,
    name: &str,
    format: Format,
    out: &Printer,
) -> Result<(), Failure> {
    let view = remote.client.get_workload(name).await?;
    if format.is_machine() {
        return out.print_value(&view, format);
    }
    let mut table = Table::new(&["FIELD", "VALUE"]);
    for (field, value) in workload_fields(&view) {
        table.add_row().text(field).text(value);
    }
    out.print_table(&table, "")?;
    if view.workload.intent != Intent::Draft && view.workload.draft_changed {
        out.print_note(&format!("The draft differs from what is published: flotilla publish {name} --wait"));
    }
    Ok(())
}

fn workload_fields(view: &WorkloadView) -> Vec<(&'static str, String)> {
    let workload = &view.workload;
    let spec = &workload.draft;
    let files: Vec<&str> = spec.source.files().iter().map(|file| &*file.name).collect();
    let overrides: Vec<&str> = spec.overrides.iter().map(|one| &*one.name).collect();
    let labels: Vec<String> = workload.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    vec![
        ("name", workload.name.clone()),
        ("phase", view.phase.label().to_owned()),
        ("revision", format_revision(workload.published, workload.draft_changed)),
        ("healthy", format_healthy(&view.counts)),
        ("states", format_states(&view.counts)),
        ("namespace", spec.namespace.clone()),
        ("placement", format_placement(spec)),
        ("overrides", overrides.join(", ")),
        ("files", files.join(", ")),
        ("labels", labels.join(", ")),
        ("created", format!("{} by {}", workload.created_at, workload.created_by)),
        ("changed", workload.updated_at.to_string()),
    ]
}

fn format_placement(spec: &domain::workload::WorkloadSpec) -> String {
    let ways: Vec<String> = spec.placement.predicates.iter().map(format_predicate).collect();
    let mut text = ways.join(", or ");
    if !spec.placement.exclude.is_empty() {
        text.push_str(&format!("; except {}", spec.placement.exclude.join(", ")));
    }
    if let Some(number) = spec.placement.number_of_clusters {
        text.push_str(&format!("; at most {number}"));
    }
    for spread in &spec.placement.spread {
        text.push_str(&format!("; spread over {}", spread.key));
    }
    text
}

fn format_predicate(predicate: &domain::placement::Predicate) -> String {
    let mut parts = Vec::new();
    if !predicate.names.is_empty() {
        parts.push(format!("clusters {}", predicate.names.join(", ")));
    }
    if !predicate.groups.is_empty() {
        parts.push(format!("groups {}", predicate.groups.join(", ")));
    }
    if !predicate.label_selector.is_empty() {
        parts.push(predicate.label_selector.to_string());
    }
    if !predicate.field_selector.is_empty() {
        parts.push(predicate.field_selector.to_string());
    }
    if parts.is_empty() { "every cluster".to_owned() } else { parts.join(" and ") }
}

fn format_revision(published: Option<u32>, draft_changed: bool) -> String {
    match published {
        Some(number) if draft_changed => format!("{number}*"),
        Some(number) => number.to_string(),
        None => "draft".to_owned(),
    }
}

fn format_healthy(counts: &ReleaseCounts) -> String {
    format!("{}/{}", counts.healthy(), counts.targeted())
}

/// Counts per state, worst first.
pub fn format_states(counts: &ReleaseCounts) -> String {
    let parts: Vec<String> =
        counts.worst_first().map(|(state, count)| format!("{count} {}", state.as_str())).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s3_3_a_workload_is_named_with_or_without_its_kind() {
        let get = |what: &str, name: Option<&str>| GetArgs {
            kind_or_name: what.into(),
            name: name.map(Into::into),
            output: OutputArgs::default(),
        };
        assert!(matches!(get("guestbook", None).parse_target(), Ok(GetTarget::Workload("guestbook"))));
        assert!(matches!(
            get("workload", Some("clusters")).parse_target(),
            Ok(GetTarget::Workload("clusters"))
        ));
        assert!(matches!(get("clusters", None).parse_target(), Ok(GetTarget::Clusters)));
        assert!(get("pods", Some("x")).parse_target().is_err());
    }
}
