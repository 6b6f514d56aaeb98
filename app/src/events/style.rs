//! Icon and colour of an event.

use domain::event::EventKind;
use domain::finding::Severity;

use super::EventSummary;
use crate::components::StatusStyle;

/// Icon and colour of an event.
pub fn event_style(event: &EventSummary) -> StatusStyle {
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
            EventKind::WorkloadPublished => quiet("upload", "hue-unknown"),
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
            | EventKind::UserAdded
            | EventKind::JoinTokenCreated => quiet("plus", "hue-unknown"),
            EventKind::ChannelCreated | EventKind::SubscriptionCreated => quiet("plus", "hue-unknown"),
            EventKind::ChannelDeleted | EventKind::SubscriptionDeleted => quiet("removed", "hue-unknown"),
            EventKind::IncidentOpened | EventKind::IncidentAcknowledged => quiet("note", "hue-unknown"),
            EventKind::IncidentClosed => quiet("synced", "hue-healthy"),
            EventKind::ClusterPending => quiet("pending", "hue-progressing"),
            EventKind::ClusterJoined => quiet("online", "hue-healthy"),
            EventKind::ClusterRejected
            | EventKind::ClusterRevoked
            | EventKind::ClusterDeleted
            | EventKind::ChartDeleted
            | EventKind::ChartRepositoryRemoved
            | EventKind::GitRepositorySaved
            | EventKind::GitRepositoryRemoved
            | EventKind::IdentityProviderRemoved
            | EventKind::GitCommitBlocked
            | EventKind::JoinTokenRevoked => quiet("removed", "hue-unknown"),
            EventKind::ClusterRenewed => quiet("refresh", "hue-unknown"),
            EventKind::Suspended => quiet("suspended", "hue-paused"),
            EventKind::WorkloadSynced | EventKind::DriftRevertRequested | EventKind::Resumed => {
                quiet("refresh", "hue-unknown")
            }
            EventKind::ClusterFacts | EventKind::DriftSnoozed => quiet("note", "hue-unknown"),
            EventKind::WorkloadEdited
            | EventKind::PlacementDecided
            | EventKind::OverrideSaved
            | EventKind::ProjectEdited
            | EventKind::ChartRepositorySaved
            | EventKind::UserChanged
            | EventKind::IdentityProviderSaved
            | EventKind::ClusterEdited => quiet("edit", "hue-unknown"),
        },
    }
}
