//! An event as a row of a list.

use domain::Timestamp;
use domain::event::EventKind;
use domain::finding::Severity;
use leptos::prelude::*;

use super::EventSummary;
use crate::components::{Age, StatusStyle, icon_sized};

/// One event: icon, message, names and actor, age.
#[component]
pub fn EventRow(
    /// The event.
    event: EventSummary,
    /// The server's time.
    at: Timestamp,
) -> impl IntoView {
    let look = event_style(&event);
    let EventSummary { href, message, unnamed_workload, actor, .. } = event;
    let by = if unnamed_workload.is_empty() { actor } else { format!(" · {actor}") };
    view! {
        <a class=format!("list-row items-start py-2 {}", look.hue) href=href>
            {icon_sized(look.icon, "icon icon-16")}
            <span class="list-main">
                <span class="text-ink">{message}</span>
                <span class="meta">
                    <span class="mono">{unnamed_workload}</span>
                    {by}
                </span>
            </span>
            <span class="list-end meta">
                <Age since=event.at at=at />
            </span>
        </a>
    }
    .into_any()
}

fn event_style(event: &EventSummary) -> StatusStyle {
    let quiet = |icon, hue| StatusStyle { icon, hue, emphasis: "state-quiet" };
    match (event.state, event.connectivity) {
        (Some(state), _) => return StatusStyle::from_state(state),
        (None, Some(connectivity)) => return StatusStyle::from_connectivity(connectivity),
        (None, None) => {}
    }
    match (event.severity, event.kind) {
        (Severity::Error | Severity::Warning, EventKind::DriftFound) => quiet("drifted", "hue-drifted"),
        (Severity::Error, _) => StatusStyle::from_severity(Severity::Error),
        (Severity::Warning, EventKind::ClusterConnectivity) => quiet("offline", "hue-unknown"),
        (Severity::Warning, _) => StatusStyle::from_severity(Severity::Warning),
        (Severity::Note, kind) => match kind {
            EventKind::WorkloadPublished => quiet("pending", "hue-progressing"),
            EventKind::WorkloadUnpublished | EventKind::WorkloadDeleting => {
                quiet("removing", "hue-progressing")
            }
            EventKind::WorkloadDeleted | EventKind::ReleaseCleanedUp => quiet("removed", "hue-unknown"),
            EventKind::DriftFound => quiet("drifted", "hue-drifted"),
            EventKind::DriftHealed => quiet("synced", "hue-healthy"),
            EventKind::ClusterConnectivity => quiet("online", "hue-healthy"),
            EventKind::ReleaseChanged | EventKind::RolloutChanged => quiet("progressing", "hue-progressing"),
            EventKind::WorkloadCreated
            | EventKind::ClusterRegistered
            | EventKind::ClusterAccepted
            | EventKind::ChartUploaded
            | EventKind::ChartFetched
            | EventKind::JoinTokenCreated => quiet("plus", "hue-unknown"),
            EventKind::ClusterPending => quiet("pending", "hue-progressing"),
            EventKind::ClusterJoined => quiet("online", "hue-healthy"),
            EventKind::ClusterRejected
            | EventKind::ClusterRevoked
            | EventKind::ClusterDeleted
            | EventKind::ChartDeleted
            | EventKind::ChartRepositoryRemoved
            | EventKind::GitRepositorySaved
            | EventKind::GitRepositoryRemoved
            | EventKind::GitCommitBlocked
            | EventKind::JoinTokenRevoked => quiet("removed", "hue-unknown"),
            EventKind::ClusterRenewed => quiet("refresh", "hue-unknown"),
            EventKind::WorkloadSynced => quiet("refresh", "hue-unknown"),
            EventKind::ClusterFacts => quiet("note", "hue-unknown"),
            EventKind::WorkloadEdited
            | EventKind::PlacementDecided
            | EventKind::OverrideSaved
            | EventKind::ChartRepositorySaved
            | EventKind::ClusterEdited => quiet("edit", "hue-unknown"),
        },
    }
}
