//! One workload: its settings, where it goes and why, its overrides, its releases with stages, objects and causes.

use domain::failure_cause::FailureCause;
use domain::placement::{Decision, RemovalWait};
use domain::release::{ReleaseView, describe_missed_deadline};
use domain::report::ResourceStatus;
use domain::workload::{Revision, WorkloadView};

use super::events::add_events;
use super::section::Description;
use crate::clock;
use crate::commands::explain::{format_result, is_reason};
use crate::commands::overrides::format_changes;
use crate::connection::ServerConnection;
use crate::failure::Failure;
use crate::output::{Table, pluralize};
use crate::pages::list_all_pages;
use crate::resources::releases::describe_stage;
use crate::resources::workloads::{describe_failure, workload_fields};

/// Most releases that are described with their objects; the others are counted.
const MAX_RELEASES: usize = 20;

/// The description of a workload.
pub async fn describe_workload(remote: &ServerConnection, name: &str) -> Result<String, Failure> {
    let view = remote.client.get_workload(name).await?;
    let mut text = Description::default();
    // The overrides have a section of their own.
    for (field, value) in workload_fields(&view).into_iter().filter(|(field, _)| *field != "overrides") {
        text.field(field, value);
    }
    if let Some(renderer) = view.published_revision.as_ref().and_then(Revision::renderer) {
        text.field("renderer", renderer);
    }
    let failures: Vec<String> = view.failures.iter().map(describe_failure).collect();
    if !failures.is_empty() {
        text.list("failures", &failures);
    }
    let decision = remote.client.get_placement_decision(name).await?;
    add_placement(&mut text, &decision);
    add_overrides(&mut text, &view);
    let mut releases = list_all_pages(async |query| remote.client.list_releases(name, &query).await).await?;
    releases.sort_by_key(|one| std::cmp::Reverse(one.state));
    text.title(&format!("releases ({})", releases.len()));
    if releases.is_empty() {
        text.line(format!("none: flotilla publish {name} --wait"));
    }
    for release in releases.iter().take(MAX_RELEASES) {
        // The list has no objects.
        let release = remote.client.get_release(name, &release.cluster_name).await?;
        add_release(&mut text, &release);
    }
    let more = releases.len().saturating_sub(MAX_RELEASES);
    if more > 0 {
        text.line(format!("and {more} more {}: flotilla status {name}", pluralize(more, "cluster")));
    }
    add_events(&mut text, remote, (Some(name), None)).await?;
    Ok(text.into_text())
}

fn add_placement(text: &mut Description, decision: &Decision) {
    let mut table = Table::new(&["CLUSTER", "SELECTED", "REASON"]);
    for evaluation in &decision.evaluations {
        let reasons = evaluation.filters.iter().filter(|result| is_reason(evaluation, result));
        let mut reasons: Vec<String> = reasons.map(format_result).collect();
        let removal = decision.pending_removals.iter().find(|one| one.cluster == evaluation.cluster);
        if let Some(removal) = removal {
            reasons.push(match (&removal.retained_by, removal.waiting_for) {
                (Some(actor), _) => format!("still deployed, retained by {actor}"),
                (None, Some(wait)) => {
                    format!("still deployed, the removal {}", RemovalWait::description(wait))
                }
                (None, None) => "still deployed, will be removed".to_owned(),
            });
        }
        let word = if evaluation.selected { "yes" } else { "no" };
        table.add_row().text(&evaluation.name).text(word).text(reasons.join("; "));
    }
    let title = match decision.revision {
        Some(revision) => format!("placement (of revision {revision})"),
        None => "placement (preview of the draft, which is not published)".to_owned(),
    };
    text.table(&title, &table, "No cluster is registered.");
}

fn add_overrides(text: &mut Description, view: &WorkloadView) {
    let mut table = Table::new(&["NAME", "CLUSTERS", "PRIORITY", "CHANGES"]);
    for one in &view.workload.draft.overrides {
        let row = table.add_row().text(&one.name).text(one.target.to_string()).number(one.priority);
        row.text(format_changes(one).join("; "));
    }
    text.table("overrides (of the draft)", &table, "none");
}

fn add_release(text: &mut Description, view: &ReleaseView) {
    let (release, now) = (&view.release, clock::now());
    let revision = release.revision().map_or_else(|| "unknown".to_owned(), |number| number.to_string());
    let last_known = view.last_known_state.map(|state| format!(" (last known: {})", state.as_str()));
    text.line(format!(
        "{}: {}{} for {}, revision {revision}, {}, {}",
        view.cluster_name,
        view.state.as_str(),
        last_known.unwrap_or_default(),
        clock::format_age(release.state_since(), now),
        release.sync().as_str(),
        release.connectivity().as_str(),
    ));
    if let Some(late) = describe_missed_deadline(release.deadline_at(), now) {
        text.line(format!("  {late}"));
    }
    for stage in release.stages().iter() {
        let (label, state) = (stage.name.label(), stage.state.as_str());
        text.line(format!("  {label:<13} {state:<7} {}", describe_stage(stage, now)));
    }
    let mut messages = view.resources.iter().flat_map(|one| one.causes.iter().cloned().chain(causes(one)));
    if !view.message.is_empty() && !messages.any(|message| view.message.contains(&message)) {
        text.line(format!("  {}", view.message));
    }
    for resource in &view.resources {
        text.line(format!("  {}", format_resource(resource)));
        for cause in causes(resource) {
            text.line(format!("    {cause}"));
        }
    }
    if view.resources.is_empty() {
        text.line("  No object is reported yet.");
    }
}

/// "Deployment shop/web: Degraded", with what is not as desired.
fn format_resource(resource: &ResourceStatus) -> String {
    let mut text = format!("{}: {}", resource.object, resource.health.status.as_str());
    if !resource.applied {
        text.push_str(", not applied");
    }
    if resource.available.is_none() {
        text.push_str(", not observed yet");
    }
    if !resource.drifted.is_empty() {
        text.push_str(&format!(", drifted in {}", resource.drifted.join(", ")));
    }
    text
}

/// Why an object is not as it should be: what the cluster rejected, then what its pods report; otherwise its health.
fn causes(resource: &ResourceStatus) -> Vec<String> {
    let problem = resource.problem.iter().map(|one| format!("{}: {} {}", one.code, one.message, one.hint));
    let mut causes: Vec<String> =
        problem.chain(resource.list_causes().iter().flat_map(describe_cause)).collect();
    if causes.is_empty() && !resource.health.message.is_empty() {
        causes.push(resource.health.message.clone());
    }
    causes
}

/// What fails in which pod, the whole text that the cluster reported, and what to do.
fn describe_cause(cause: &FailureCause) -> Vec<String> {
    let pod = if cause.pod.is_empty() { String::new() } else { format!("pod {}: ", cause.pod) };
    let detail = cause.detail.lines().map(|line| format!("  {line}"));
    let remedy = cause.remedy().map(|remedy| format!("  fix: {remedy}"));
    std::iter::once(format!("{pod}{}", cause.message())).chain(detail).chain(remedy).collect()
}
