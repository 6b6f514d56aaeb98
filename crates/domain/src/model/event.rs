//! Events: the append-only log of what happened.

use serde::{Deserialize, Serialize};

use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
use crate::kubernetes::time::Timestamp;
use crate::text::finding::Severity;

mod detail;
mod limits;
mod message;

pub use detail::{ClusterChanges, DriftDetail, EditAction, EventDetail};
pub use limits::{MAX_DETAIL_BYTES, MAX_MESSAGE_BYTES};

/// The kind of an event. Its name is stored and displayed: kinds may be added, never renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum EventKind {
    /// A workload was created.
    WorkloadCreated,
    /// Its draft was changed.
    WorkloadEdited,
    /// A revision was published.
    WorkloadPublished,
    /// It was unpublished.
    WorkloadUnpublished,
    /// Its deletion has begun.
    WorkloadDeleting,
    /// It was deleted.
    WorkloadDeleted,
    /// A user requested a sync.
    WorkloadSynced,
    /// A user suspended a workload, a workload on some clusters, or a cluster.
    Suspended,
    /// A user resumed what was suspended.
    Resumed,
    /// The placement selected other clusters than before.
    PlacementDecided,
    /// A rollout advanced, stopped or ended.
    RolloutChanged,
    /// An override was saved or removed.
    OverrideSaved,
    /// A release changed its state.
    ReleaseChanged,
    /// A cluster removed what had been given up without its confirmation.
    ReleaseCleanedUp,
    /// An applied object was changed on its cluster.
    DriftFound,
    /// An applied object was reverted.
    DriftHealed,
    /// A cluster was registered.
    ClusterRegistered,
    /// Labels or taints of a cluster were changed.
    ClusterEdited,
    /// The connectivity of a cluster changed.
    ClusterConnectivity,
    /// A cluster's version or kinds changed.
    ClusterFacts,
    /// A join token was created.
    JoinTokenCreated,
    /// A join token was revoked.
    JoinTokenRevoked,
    /// An agent requested registration.
    ClusterPending,
    /// A cluster was accepted.
    ClusterAccepted,
    /// A cluster was rejected.
    ClusterRejected,
    /// A cluster's agent connected for the first time, or with another version.
    ClusterJoined,
    /// A cluster's agent received a new certificate.
    ClusterRenewed,
    /// A cluster's certificates were revoked.
    ClusterRevoked,
    /// A cluster was deleted.
    ClusterDeleted,
    /// A chart was uploaded.
    ChartUploaded,
    /// A chart was fetched from its repository.
    ChartFetched,
    /// A chart was deleted.
    ChartDeleted,
    /// The locked values of the project were changed.
    ProjectEdited,
    /// A repository of charts was added or changed.
    ChartRepositorySaved,
    /// A repository of charts was removed.
    ChartRepositoryRemoved,
    /// A Git repository was added or changed.
    GitRepositorySaved,
    /// A Git repository was removed.
    GitRepositoryRemoved,
    /// A new commit of a Git source is not used, because it can't be read or published.
    GitCommitBlocked,
    /// A user hid drift until a time, or showed it again.
    DriftSnoozed,
    /// A user requested the revert of single fields that drift.
    DriftRevertRequested,
    /// An incident was opened.
    IncidentOpened,
    /// A user acknowledged an incident.
    IncidentAcknowledged,
    /// An incident was closed.
    IncidentClosed,
    /// A channel for notifications was created.
    ChannelCreated,
    /// A channel for notifications was deleted.
    ChannelDeleted,
    /// Incidents are sent to a channel.
    SubscriptionCreated,
    /// Incidents are sent to a channel no more.
    SubscriptionDeleted,
    /// An identity provider was added or changed.
    IdentityProviderSaved,
    /// An identity provider was removed.
    IdentityProviderRemoved,
    /// A user signed up or was invited.
    UserAdded,
    /// The role of a user or whether the user can sign in was changed.
    UserChanged,
}

impl EventKind {
    /// The name stored in the database, the same as in JSON.
    pub fn to_json_name(self) -> String {
        match serde_json::to_value(self) {
            Ok(serde_json::Value::String(name)) => name,
            _ => String::new(),
        }
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Position in the log, increasing. A client resumes after the last one it received.
    pub seq: i64,
    /// When it happened.
    pub at: Timestamp,
    /// What it is about.
    pub kind: EventKind,
    /// Its severity.
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
    /// Who caused it: a user's name, or `flotilla`.
    pub actor: String,
    /// A sentence for people, built from the detail if there is one. Programs read the detail.
    pub message: String,
    /// What changed, from what to what; absent if kind and subject are all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<EventDetail>,
}

/// What an event is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventSubject {
    /// The workload and its name, if one.
    pub workload: Option<(WorkloadId, String)>,
    /// The cluster and its name, if one.
    pub cluster: Option<(ClusterId, String)>,
    /// The release, if one.
    pub release: Option<ReleaseId>,
    /// Kind and name of anything else, such as `user ada`. Only the audit log stores it.
    pub object: Option<String>,
}

impl EventSubject {
    /// A workload.
    pub fn workload(id: WorkloadId, name: &str) -> Self {
        Self { workload: Some((id, name.to_owned())), ..Self::default() }
    }

    /// A cluster.
    pub fn cluster(id: ClusterId, name: &str) -> Self {
        Self { cluster: Some((id, name.to_owned())), ..Self::default() }
    }

    /// An object of another kind, such as a user.
    pub fn object(kind: &str, name: &str) -> Self {
        Self { object: Some(describe_object(kind, name)), ..Self::default() }
    }

    /// `workload shop on eu-1`, `cluster eu-1`, `user ada`; empty for none.
    pub fn describe(&self) -> String {
        match (&self.workload, &self.cluster) {
            (Some((_, workload)), Some((_, cluster))) => format!("workload {workload} on {cluster}"),
            (Some((_, workload)), None) => format!("workload {workload}"),
            (None, Some((_, cluster))) => format!("cluster {cluster}"),
            (None, None) => self.object.clone().unwrap_or_default(),
        }
    }

    fn workload_name(&self) -> &str {
        self.workload.as_ref().map_or("", |(_, name)| name)
    }

    fn cluster_name(&self) -> &str {
        self.cluster.as_ref().map_or("", |(_, name)| name)
    }
}

/// Kind and name of an object, as the audit log has them.
pub fn describe_object(kind: &str, name: &str) -> String {
    format!("{kind} {name}")
}

/// An event without a position in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What happened.
    pub kind: EventKind,
    /// Its severity.
    pub severity: Severity,
    /// What it is about.
    pub subject: EventSubject,
    /// Who caused it.
    pub actor: String,
    /// A sentence for people.
    pub message: String,
    /// What changed, from what to what.
    pub detail: Option<EventDetail>,
}

impl NewEvent {
    /// An event without a detail.
    pub fn new(kind: EventKind, actor: &str, message: impl Into<String>) -> Self {
        Self {
            kind,
            severity: Severity::Note,
            subject: EventSubject::default(),
            actor: actor.to_owned(),
            message: message.into(),
            detail: None,
        }
    }

    /// The event of this detail at `at`: kind, severity and message follow from it.
    pub fn from_detail(detail: EventDetail, actor: &str, subject: EventSubject, at: Timestamp) -> Self {
        Self {
            kind: detail.kind(),
            severity: detail.severity(),
            message: detail.message(&subject, at),
            subject,
            actor: actor.to_owned(),
            detail: Some(detail),
        }
    }

    /// The same event, about this workload.
    #[must_use]
    pub fn with_workload(mut self, id: WorkloadId, name: &str) -> Self {
        self.subject.workload = Some((id, name.to_owned()));
        self
    }

    /// The same event, about this cluster.
    #[must_use]
    pub fn with_cluster(mut self, id: ClusterId, name: &str) -> Self {
        self.subject.cluster = Some((id, name.to_owned()));
        self
    }

    /// The same event, about an object that is neither a workload nor a cluster.
    #[must_use]
    pub fn with_object(mut self, kind: &str, name: &str) -> Self {
        self.subject.object = Some(describe_object(kind, name));
        self
    }

    /// The same event, about this release.
    #[must_use]
    pub fn with_release(mut self, id: ReleaseId) -> Self {
        self.subject.release = Some(id);
        self
    }

    /// The same event, with this severity.
    #[must_use]
    pub fn with_severity(mut self, severity: Severity) -> Self {
        self.severity = severity;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::release::ReleaseState;

    #[test]
    fn kind_severity_and_message_of_an_event_follow_from_its_detail() {
        let subject = EventSubject {
            cluster: Some((ClusterId::from_parts(1, 1), "edge-1".to_owned())),
            ..EventSubject::workload(WorkloadId::from_parts(1, 1), "web")
        };
        let detail = EventDetail::ReleaseState {
            from: ReleaseState::Progressing,
            to: ReleaseState::Failed,
            message: "No image.".to_owned(),
        };
        let event = NewEvent::from_detail(detail, "flotilla", subject, Timestamp::default());
        assert_eq!((event.kind, event.severity), (EventKind::ReleaseChanged, Severity::Error));
        assert_eq!(event.message, "web on edge-1: Progressing → Failed. No image.");
    }

    #[test]
    fn a_detail_is_json_with_a_type_and_reads_back() {
        let detail = EventDetail::ReleaseState {
            from: ReleaseState::Applying,
            to: ReleaseState::Healthy,
            message: String::new(),
        };
        let json = serde_json::to_value(&detail).unwrap();
        assert_eq!(json, serde_json::json!({ "type": "releaseState", "from": "Applying", "to": "Healthy" }));
        assert_eq!(serde_json::from_value::<EventDetail>(json).unwrap(), detail);
        let renewed = EventDetail::CertificateRenewed { not_after: Timestamp::from_millis(0) };
        assert!(serde_json::to_string(&renewed).unwrap().contains("\"notAfter\""));
    }
}
