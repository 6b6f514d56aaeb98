//! Lists and prints workloads.

use std::cmp::Reverse;

use domain::rollup::ReleaseCounts;
use domain::workload::{Intent, WorkloadFailure, WorkloadSummary, WorkloadView};

use crate::clock;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Format, Printer, Table, format_states, pluralize};
use crate::pages::list_all_pages;

/// Lists all workloads, page by page.
async fn list_all(remote: &ServerConnection) -> Result<Vec<WorkloadSummary>, Failure> {
    Ok(list_all_pages(async |query| remote.client.list_workloads(&query).await).await?)
}

/// The names of all workloads.
pub async fn list_names(remote: &ServerConnection) -> Result<Vec<String>, Failure> {
    Ok(list_all(remote).await?.into_iter().map(|workload| workload.name).collect())
}

/// The order of a list of workloads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListOrder {
    Name,
    /// Unreadable workloads first, then by the worst state of their releases.
    WorstFirst,
}

/// Prints all workloads.
pub async fn print_list(
    remote: &ServerConnection,
    order: ListOrder,
    format: Format,
    out: &Printer,
) -> Result<(), Failure> {
    let mut workloads = list_all(remote).await?;
    if order == ListOrder::WorstFirst {
        workloads.sort_by_key(|one| Reverse((one.unreadable.is_some(), one.counts.worst())));
    }
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
        let row = table.add_row().text(&workload.name);
        let row = match workload.suspension {
            Some(_) => row.text(format!("{}, suspended", workload.phase.label())),
            None => row.text(workload.phase.label()),
        };
        let row = row
            .text(format_revision(workload.published, workload.draft_changed))
            .text(format_healthy(&workload.counts));
        let row = row.text(format_states(&workload.counts)).text(clock::format_age(workload.updated_at, now));
        if wide {
            row.text(&workload.namespace).text(&workload.updated_by);
        }
    }
    for workload in &workloads {
        if let Some(why) = &workload.unreadable {
            out.print_warning(&format!("{}: {why}", workload.name));
        }
    }
    out.print_table(&table, "There are no workloads yet: flotilla apply -f ./manifests --clusters A,B")
}

/// Prints one workload.
pub async fn print_workload(
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
    print_failures(&view.failures, out);
    if view.workload.intent != Intent::Draft && view.workload.draft_changed {
        out.print_note(&format!("The draft differs from what is published: flotilla publish {name} --wait"));
    }
    Ok(())
}

/// Prints what the server failed to do for a workload.
pub fn print_failures(failures: &[WorkloadFailure], out: &Printer) {
    for failure in failures {
        out.print_warning(&describe_failure(failure));
    }
}

/// What the server failed to do for a workload, and how often it was attempted.
pub fn describe_failure(failure: &WorkloadFailure) -> String {
    let WorkloadFailure { message, attempts, retry_at } = failure;
    let noun = pluralize(*attempts as usize, "attempt");
    let next = retry_at.map(|at| format!(", next retry at {at}")).unwrap_or_default();
    format!("{message} ({attempts} {noun}{next})")
}

/// The fields of a workload.
pub fn workload_fields(view: &WorkloadView) -> Vec<(&'static str, String)> {
    let workload = &view.workload;
    let spec = &workload.draft;
    let files: Vec<&str> = spec.source.files().iter().map(|file| &*file.name).collect();
    let source = if files.is_empty() { spec.source.summary() } else { files.join(", ") };
    let overrides: Vec<&str> = spec.overrides.iter().map(|one| &*one.name).collect();
    let labels: Vec<String> = workload.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let mut fields = vec![
        ("name", workload.name.clone()),
        ("phase", view.phase.label().to_owned()),
        ("revision", format_revision(workload.published, workload.draft_changed)),
        ("healthy", format_healthy(&view.counts)),
        ("states", format_states(&view.counts)),
        ("namespace", spec.namespace.clone()),
        ("placement", format_placement(spec)),
        ("overrides", overrides.join(", ")),
        ("source", source),
        ("labels", labels.join(", ")),
        ("created", format!("{} by {}", workload.created_at, workload.created_by)),
        ("changed", workload.updated_at.to_string()),
    ];
    if let Some(suspension) = &view.suspension {
        fields.insert(2, ("suspended", suspension.to_string()));
    }
    fields
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
    if let Some(minimum) = spec.placement.min_clusters {
        text.push_str(&format!("; at least {minimum}"));
    }
    if let Some(minimum) = spec.placement.min_available_clusters {
        text.push_str(&format!("; at least {minimum} available"));
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
