//! Messages between hub and agent about releases: desired state to the agent, reports to the hub.
//!
//! Both are complete states, never increments: the agent pulls the full desired state of its cluster and compares, a
//! report contains the full state of a release. Lost or repeated messages are harmless (S0-6, S0-7, S3-9). The hub
//! identifies the cluster by the credential, never by the message.

use serde::{Deserialize, Serialize};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{PlanId, ReleaseId};
use crate::kubernetes::object::ObjectRef;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::ClusterFacts;
use crate::model::condition::Condition;
use crate::model::failure_cause::FailureCause;
use crate::model::health::Health;
use crate::model::helm_release::HelmReleaseRequest;
use crate::model::policy::{DeletionPolicy, Feedback, Policies};
use crate::model::release::{StageName, StageState, SyncStatus};
use crate::text::finding::Finding;

mod drifted_field;
pub mod limits;

pub use drifted_field::DriftedField;

/// The full desired state of a cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DesiredState {
    /// Incremented with every change of the desired state; the agent waits for a greater one.
    pub version: i64,
    /// One entry per release that is not suspended.
    pub releases: Vec<DesiredRelease>,
    /// The suspended releases, which are observed and not changed. They are not in `releases`: an agent without this field has no
    /// desired state for them, so that it changes nothing of them either.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspended: Vec<DesiredRelease>,
    /// Reverts of single drifted fields that users request; each is answered once. An agent without this field answers none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub field_reverts: Vec<FieldRevertRequest>,
    /// Dry runs that plans request; each is answered once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dry_run_requests: Vec<DryRunRequest>,
    /// Helm releases that users want to adopt; each is answered once. An agent without this field answers none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub helm_release_requests: Vec<HelmReleaseRequest>,
}

/// A request to write these fields of an object back, and nothing else of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldRevertRequest {
    /// Its id, which the answer repeats.
    pub id: String,
    /// The release.
    pub release: ReleaseId,
    /// The object.
    pub object: ObjectRef,
    /// Paths of the fields, as they were reported as drifted.
    pub paths: Vec<String>,
}

/// The answer to a [`FieldRevertRequest`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct FieldRevertOutcome {
    /// The id of the request.
    pub id: String,
    /// Why the fields were not reverted, as a sentence; absent if they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The desired state of one release on a cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DesiredRelease {
    /// The release.
    pub release: ReleaseId,
    /// Name of the workload, for labels and messages.
    pub workload: String,
    /// Incremented with every change of `phase`; reports about an older generation are rejected.
    pub generation: i64,
    /// Incremented when a user requests a sync; a new value resets the agent's back-offs.
    pub sync_nonce: i64,
    /// Its desired phase.
    pub phase: DesiredPhase,
}

/// The desired phase of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum DesiredPhase {
    /// The bundle with this digest is applied and maintained.
    #[serde(rename_all = "camelCase")]
    Present {
        /// Digest of the bundle.
        bundle: Digest,
        /// Number of the revision it was rendered from.
        revision: u32,
        /// Its policies.
        policies: Policies,
    },
    /// The release is removed.
    Absent {
        /// Whether the objects are deleted or stay.
        deletion: DeletionPolicy,
        /// Its last policies: which objects stay, and the executor that deletes.
        #[serde(default)]
        policies: Policies,
    },
}

/// A request to a cluster's agent for a dry run. Nothing is written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DryRunRequest {
    /// The plan it is for.
    pub plan: PlanId,
    /// The release, if there is one on the cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<ReleaseId>,
    /// Name of the workload.
    pub workload: String,
    /// The desired state to try.
    pub desired_phase: DesiredPhase,
}

/// The message that renews the lease of a cluster, or says that its API server does not respond: then the lease is not
/// renewed, because nothing is known of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Heartbeat {
    /// The error that the agent gets from the API server; `None` while it responds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub api_server_error: Option<String>,
}

/// Reports of one agent, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportBatch {
    /// The incarnation that the hub issued for this session; with another one the batch is rejected.
    pub incarnation: i64,
    /// 1, 2, 3 … within one incarnation; a batch not greater than the last accepted one is rejected.
    pub seq: i64,
    /// The cluster's facts, when they changed since the last batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<ClusterFacts>,
    /// Digest of the schema of its API server's kinds, when it changed since the last batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// Releases with a record on the cluster that the desired state does not contain, when they changed since the last
    /// batch. The hub orders the removal of those that it knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leftovers: Option<Vec<ReleaseId>>,
    /// The reports of releases.
    pub releases: Vec<ReleaseReport>,
}

/// The full state of one release on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseReport {
    /// The release.
    pub release: ReleaseId,
    /// The generation that this report is about.
    pub generation: i64,
    /// Digest of the bundle that is applied completely, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Digest>,
    /// The agent's stages ([`StageName::Notified`] to [`StageName::Operational`]); a stage left out is pending.
    pub stages: Vec<StageReport>,
    /// Whether live objects match what was applied.
    pub sync: SyncStatus,
    /// The worst of its objects.
    pub health: Health,
    /// Every object, in the order of the bundle; objects to prune last.
    pub resources: Vec<ResourceStatus>,
    /// Drift found, healed or contested since the last report about this release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<DriftReport>,
    /// Number of further drift notes that were left out ([`limits::MAX_DRIFT_NOTES`]).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub drift_omitted: u32,
    /// True once nothing of the release is left on the cluster, its record included (or all was orphaned).
    pub removed: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u32) -> bool {
    *count == 0
}

/// The state of one of the agent's stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageReport {
    /// Which one.
    pub name: StageName,
    /// Its state.
    pub state: StageState,
}

/// When the statuses of an object last changed, by the agent's clock; displayed, never compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct TransitionTimes {
    /// When `applied` last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Timestamp>,
    /// When `available_condition` last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Timestamp>,
    /// When it last began or ceased to drift.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drifted: Option<Timestamp>,
}

/// One object of a release (S3-5).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ResourceStatus {
    /// Position in the bundle.
    pub ordinal: u32,
    /// Which object.
    pub object: ObjectRef,
    /// The plural of its kind in URLs, such as `deployments`; empty while the cluster does not serve it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub resource: String,
    /// Whether the desired content is applied.
    pub applied: bool,
    /// Whether it is on the cluster; `None` until it was observed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<bool>,
    /// Its health.
    pub health: Health,
    /// Fields that differ from what was applied, as JSON pointers; empty when in sync.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drifted: Vec<String>,
    /// The same fields with their values; empty if the agent is of an earlier version (P23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drifted_fields: Vec<DriftedField>,
    /// Causes found in its pods as one line each, worst first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The same causes with their parts; empty if the agent is of an earlier version (P23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_causes: Vec<FailureCause>,
    /// Why it could not be applied or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Finding>,
    /// Reported values of the live object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<Feedback>,
    /// What became of the last request to revert fields of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_revert: Option<FieldRevertOutcome>,
    /// When its statuses last changed.
    #[serde(default)]
    pub since: TransitionTimes,
    /// The same as Kubernetes conditions, derived for display ([`crate::model::release::resource_conditions`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

impl ResourceStatus {
    /// The causes found in its pods; those of an agent of an earlier version are sentences.
    pub fn list_causes(&self) -> Vec<FailureCause> {
        match self.failure_causes.as_slice() {
            [] => self.causes.iter().map(FailureCause::from_sentence).collect(),
            causes => causes.to_vec(),
        }
    }

    /// The number of its drifted fields, those that the report left out included.
    pub fn count_drifted(&self) -> u32 {
        let count = u32::try_from(self.drifted.len()).unwrap_or(u32::MAX);
        match self.drifted.last().and_then(|last| limits::omitted_count(last)) {
            // The last one stands for them.
            Some(omitted) => (count - 1).saturating_add(omitted),
            None => count,
        }
    }

    /// The drifted fields; those of an agent of an earlier version have no values.
    pub fn list_drifted_fields(&self) -> Vec<DriftedField> {
        match self.drifted_fields.as_slice() {
            [] => self.drifted.iter().map(DriftedField::from_path).collect(),
            fields => fields.to_vec(),
        }
    }
}

/// The outcome of a drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum DriftOutcome {
    /// Found, and not or not yet reverted.
    Found,
    /// Reverted.
    Healed,
    /// Reverted several times and changed again each time.
    Contested,
}

/// A change of an applied object on the cluster, and its outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftReport {
    /// Which object.
    pub object: ObjectRef,
    /// JSON pointers of the changed fields; empty when the object was deleted.
    pub fields: Vec<String>,
    /// The same fields with their values; empty if the agent is of an earlier version (P23).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<DriftedField>,
    /// The field manager that changed them; may be empty if unknown.
    pub manager: String,
    /// Its outcome.
    pub outcome: DriftOutcome,
    /// When, by the agent's clock; shown, never compared.
    pub at: Timestamp,
}

/// The hub's response to a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportAck {
    /// Whether the batch was accepted; false when it was late or replayed.
    pub accepted: bool,
    /// The current version of the desired state, so that the agent detects a missed notice.
    pub desired_state_version: i64,
    /// Whether the hub does not have the schema that the batch names, and requests it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schema_requested: bool,
}
