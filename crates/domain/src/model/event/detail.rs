//! The typed content of an event: what changed, from what to what.
//!
//! Kind, severity and sentence of an event with a detail follow from it, so they cannot contradict it.

use serde::{Deserialize, Serialize};

use super::EventKind;
use crate::kubernetes::id::JoinTokenId;
use crate::kubernetes::labels::Labels;
use crate::kubernetes::object::ObjectRef;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Connectivity, PendingFact, Taint};
use crate::model::policy::DeletionPolicy;
use crate::model::release::ReleaseState;
use crate::model::report::{DriftOutcome, DriftedField};
use crate::model::rollout::RolloutEvent;
use crate::text::finding::Severity;

/// A change of a named object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum EditAction {
    /// It was created or changed.
    Saved,
    /// It was deleted.
    Deleted,
}

/// The drift of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct DriftDetail {
    /// The object.
    pub object: ObjectRef,
    /// JSON pointers of the changed fields; empty if the object was deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The same fields with their values; empty if the agent is of an earlier version (P23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<DriftedField>,
    /// The field manager that changed them; empty if it is unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub manager: String,
    /// The outcome.
    pub outcome: DriftOutcome,
    /// Number of further changes of the release that its cluster reported at the same time, beyond those with events.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// Changes of a registered cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ClusterChanges {
    /// Labels that were added or changed, with their values.
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = crate::kubernetes::labels::LabelMap))]
    pub set_labels: Labels,
    /// Keys of labels that were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed_labels: Vec<String>,
    /// All taints, if they were changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taints: Option<Vec<Taint>>,
    /// Keys of annotations that were set or removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub annotations: Vec<String>,
    /// Whether its own values were changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub values: bool,
    /// Whether it is schedulable, if that was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedulable: Option<bool>,
    /// Whether its owners were changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub owners: bool,
    /// Number of set labels and taints that are left out, because the event would be too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// The typed content of an event; absent from events whose kind and subject are all of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum EventDetail {
    /// A revision was published.
    Published {
        /// Its number.
        revision: u32,
        /// What the user wrote about it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
        /// The codes with which clusters had rejected its plan.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        forced: Vec<String>,
    },
    /// The draft was rolled back.
    RolledBack {
        /// To this revision.
        revision: u32,
    },
    /// A sync was requested.
    SyncRequested {
        /// On so many clusters.
        clusters: u32,
    },
    /// An override was saved or deleted.
    Override {
        /// Its name.
        name: String,
        /// What was done.
        action: EditAction,
    },
    /// The placement was decided.
    Placement {
        /// Number of clusters selected.
        selected: u32,
        /// Number of clusters evaluated.
        total: u32,
    },
    /// Clusters that run the workload are no longer selected and will lose it after the removal notice.
    RemovalsPending {
        /// Their names.
        clusters: Vec<String>,
    },
    /// So many clusters are no longer selected that none loses the workload without a publish.
    RemovalsWithheld {
        /// How many.
        clusters: u32,
    },
    /// A user cancelled removals until the next publish.
    RemovalsCancelled {
        /// Names of the clusters.
        clusters: Vec<String>,
    },
    /// A rollout changed.
    Rollout {
        /// The revision.
        revision: u32,
        /// The change.
        change: RolloutEvent,
    },
    /// A cluster removed a workload that had been given up without its confirmation.
    CleanedUp {
        /// Whether the objects were deleted or stay.
        deletion: DeletionPolicy,
        /// Since when the removal was owed.
        since: Timestamp,
    },
    /// A release changed its state.
    ReleaseState {
        /// The state before.
        from: ReleaseState,
        /// The state after.
        to: ReleaseState,
        /// Why, as a sentence, if it fails; which objects stay on the cluster, if it is removed.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// An applied object was changed on its cluster.
    Drift(DriftDetail),
    /// The connectivity of a cluster changed.
    #[serde(rename_all = "camelCase")]
    Connectivity {
        /// Before.
        from: Connectivity,
        /// After.
        to: Connectivity,
        /// The last heartbeat before the change, if there was one and the cluster is not online.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        last_seen: Option<Timestamp>,
    },
    /// The API server of a cluster stopped responding to its agent, or responds again.
    ApiServer {
        /// Whether it responds.
        responds: bool,
        /// The error that the agent gets.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        message: String,
    },
    /// A cluster runs another version of Kubernetes.
    KubernetesVersion {
        /// Before; empty if it was not known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        from: String,
        /// After.
        to: String,
    },
    /// A cluster reports other facts than those that are confirmed, or its confirmed facts again.
    FactsPending {
        /// The facts that wait for confirmation, without those of routine operation; empty if it reports the confirmed ones.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        facts: Vec<PendingFact>,
    },
    /// A user confirmed facts of a cluster.
    FactsConfirmed {
        /// What was confirmed, with the values before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        facts: Vec<PendingFact>,
    },
    /// A cluster was changed by a user.
    ClusterChanges(ClusterChanges),
    /// A cluster group was saved or deleted.
    ClusterGroup {
        /// Its name.
        name: String,
        /// What was done.
        action: EditAction,
        /// Names of the clusters that became static members.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        joined: Vec<String>,
        /// Names of the clusters that were static members before.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// An agent requested to join.
    JoinRequested {
        /// The requested cluster name.
        name: String,
        /// SHA-256 of its public key, in hex.
        fingerprint: String,
    },
    /// A cluster was accepted.
    JoinAccepted {
        /// SHA-256 of its agent's public key, in hex.
        fingerprint: String,
        /// The facts that were confirmed with it.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        facts: Vec<PendingFact>,
    },
    /// A user rejected the request of an agent.
    JoinRejected {
        /// The requested cluster name.
        name: String,
    },
    /// An agent connected for the first time, or with another version.
    AgentConnected {
        /// Its version.
        version: String,
    },
    /// An agent received a new certificate.
    #[serde(rename_all = "camelCase")]
    CertificateRenewed {
        /// When it expires.
        not_after: Timestamp,
    },
    /// A cluster was deleted.
    ClusterDeleted {
        /// Number of workloads that are left running there.
        orphaned: u32,
    },
    /// A join token was created.
    #[serde(rename_all = "camelCase")]
    JoinTokenCreated {
        /// The token.
        id: JoinTokenId,
        /// The only cluster name that may use it, if it is bound to one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cluster_name: Option<String>,
        /// How many agent keys may register with it.
        max_uses: u32,
        /// Whether clusters that join with it are accepted automatically.
        auto_accept: bool,
    },
    /// A join token was revoked.
    JoinTokenRevoked {
        /// The token.
        id: JoinTokenId,
    },
}

impl EventDetail {
    /// The kind of an event with this detail.
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::Published { .. } => EventKind::WorkloadPublished,
            Self::RolledBack { .. } => EventKind::WorkloadEdited,
            Self::SyncRequested { .. } => EventKind::WorkloadSynced,
            Self::Override { .. } => EventKind::OverrideSaved,
            Self::Placement { .. }
            | Self::RemovalsPending { .. }
            | Self::RemovalsWithheld { .. }
            | Self::RemovalsCancelled { .. } => EventKind::PlacementDecided,
            Self::Rollout { .. } => EventKind::RolloutChanged,
            Self::ReleaseState { .. } => EventKind::ReleaseChanged,
            Self::CleanedUp { .. } => EventKind::ReleaseCleanedUp,
            Self::Drift(DriftDetail { outcome: DriftOutcome::Healed, .. }) => EventKind::DriftHealed,
            Self::Drift(_) => EventKind::DriftFound,
            Self::Connectivity { .. } | Self::ApiServer { .. } => EventKind::ClusterConnectivity,
            Self::KubernetesVersion { .. } | Self::FactsPending { .. } => EventKind::ClusterFacts,
            Self::ClusterChanges(_) | Self::ClusterGroup { .. } | Self::FactsConfirmed { .. } => {
                EventKind::ClusterEdited
            }
            Self::JoinRequested { .. } => EventKind::ClusterPending,
            Self::JoinAccepted { .. } => EventKind::ClusterAccepted,
            Self::JoinRejected { .. } => EventKind::ClusterRejected,
            Self::AgentConnected { .. } => EventKind::ClusterJoined,
            Self::CertificateRenewed { .. } => EventKind::ClusterRenewed,
            Self::ClusterDeleted { .. } => EventKind::ClusterDeleted,
            Self::JoinTokenCreated { .. } => EventKind::JoinTokenCreated,
            Self::JoinTokenRevoked { .. } => EventKind::JoinTokenRevoked,
        }
    }

    /// The severity of an event with this detail.
    pub const fn severity(&self) -> Severity {
        match self {
            Self::ReleaseState { to: ReleaseState::Failed | ReleaseState::Degraded, .. } => Severity::Error,
            Self::ReleaseState { to: ReleaseState::Blocked | ReleaseState::Drifted, .. }
            | Self::Drift(DriftDetail { outcome: DriftOutcome::Found | DriftOutcome::Contested, .. })
            | Self::Connectivity { to: Connectivity::Late | Connectivity::Offline, .. }
            | Self::ApiServer { responds: false, .. }
            | Self::RemovalsPending { .. }
            | Self::RemovalsWithheld { .. }
            | Self::JoinRequested { .. }
            | Self::ClusterDeleted { orphaned: 1.. } => Severity::Warning,
            Self::FactsPending { facts } if !facts.is_empty() => Severity::Warning,
            Self::Rollout { change, .. } => change.severity(),
            _ => Severity::Note,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_server_that_does_not_respond_is_a_warning_about_connectivity() {
        let event = |responds| EventDetail::ApiServer { responds, message: String::new() };
        assert_eq!(
            (event(false).kind(), event(false).severity()),
            (EventKind::ClusterConnectivity, Severity::Warning)
        );
        assert_eq!(
            (event(true).kind(), event(true).severity()),
            (EventKind::ClusterConnectivity, Severity::Note)
        );
    }
}
