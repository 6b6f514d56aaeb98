//! Events: the append-only log of what happened, and the notices that tell pages to look again.

use serde::{Deserialize, Serialize};

use crate::finding::Severity;
use crate::id::{ClusterId, ReleaseId, WorkloadId};
use crate::time::Timestamp;

/// What an event is about. The word is stored and shown; add, never rename.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum EventKind {
    /// A workload was made.
    WorkloadCreated,
    /// Its draft was changed.
    WorkloadEdited,
    /// A revision was published.
    WorkloadPublished,
    /// It was taken back.
    WorkloadUnpublished,
    /// It is to be forgotten.
    WorkloadDeleting,
    /// It is forgotten.
    WorkloadDeleted,
    /// A person asked for a new comparison.
    WorkloadSynced,
    /// Placement chose other clusters than before.
    PlacementDecided,
    /// A rollout went on, stopped or ended.
    RolloutChanged,
    /// An override was saved or removed.
    OverrideSaved,
    /// A release changed its state.
    ReleaseChanged,
    /// Somebody changed an applied object.
    DriftFound,
    /// An applied object was put back.
    DriftHealed,
    /// A cluster was registered.
    ClusterRegistered,
    /// Labels or taints of a cluster were changed.
    ClusterEdited,
    /// A cluster went silent or came back.
    ClusterReach,
    /// A cluster's version or kinds changed.
    ClusterFacts,
    /// A token to join with was made.
    JoinTokenCreated,
    /// A token to join with was ended.
    JoinTokenRevoked,
    /// An agent asks to join.
    ClusterPending,
    /// A cluster was accepted.
    ClusterAccepted,
    /// A cluster was refused.
    ClusterRejected,
    /// A cluster's agent came for the first time, or with another version.
    ClusterJoined,
    /// A cluster's agent got a new certificate.
    ClusterRenewed,
    /// A cluster's certificates were revoked.
    ClusterRevoked,
    /// A cluster was forgotten.
    ClusterDeleted,
}

impl EventKind {
    /// The word the database keeps, the same as in JSON.
    pub fn word(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(word)) => word,
            _ => String::new(),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Position in the log; grows. A client resumes after the last one it saw.
    pub seq: i64,
    /// When.
    pub at: Timestamp,
    /// What about.
    pub kind: EventKind,
    /// How much it weighs.
    pub severity: Severity,
    /// The workload, if one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadId>,
    /// Its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub workload_name: String,
    /// The cluster, if one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<ClusterId>,
    /// Its name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cluster_name: String,
    /// The release, if one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseId>,
    /// Who: a person's name, or `flotilla`.
    pub actor: String,
    /// The sentence people read.
    pub message: String,
}

/// An event before the log has given it its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What about.
    pub kind: EventKind,
    /// How much it weighs.
    pub severity: Severity,
    /// The workload and its name, if one.
    pub workload: Option<(WorkloadId, String)>,
    /// The cluster and its name, if one.
    pub cluster: Option<(ClusterId, String)>,
    /// The release, if one.
    pub release: Option<ReleaseId>,
    /// Who.
    pub actor: String,
    /// The sentence people read.
    pub message: String,
}

impl NewEvent {
    /// An event of this kind by this actor.
    pub fn new(kind: EventKind, actor: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            severity: Severity::Note,
            workload: None,
            cluster: None,
            release: None,
            actor: actor.to_owned(),
            message: message.into(),
        }
    }

    /// The same event, about this workload.
    #[must_use]
    pub fn workload(mut self, id: WorkloadId, name: &str) -> Self {
        self.workload = Some((id, name.to_owned()));
        self
    }

    /// The same event, about this cluster.
    #[must_use]
    pub fn cluster(mut self, id: ClusterId, name: &str) -> Self {
        self.cluster = Some((id, name.to_owned()));
        self
    }

    /// The same event, about this release.
    #[must_use]
    pub fn release(mut self, id: ReleaseId) -> Self {
        self.release = Some(id);
        self
    }

    /// The same event, with this weight.
    #[must_use]
    pub fn weighing(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}
