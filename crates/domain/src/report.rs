//! What hub and agent tell each other about releases: wants down, reports up.
//!
//! Both are whole states, never increments: the agent pulls the full list of what its cluster should hold and
//! compares, a report says all there is to say about a release. A lost or repeated message costs nothing (S0-6, S0-7,
//! S3-9). The hub takes the cluster from the credential, never from the message.

use serde::{Deserialize, Serialize};

use crate::cluster::ClusterFacts;
use crate::condition::Condition;
use crate::digest::Digest;
use crate::finding::Finding;
use crate::health::Health;
use crate::id::ReleaseId;
use crate::object::ObjectRef;
use crate::plan::Ask;
use crate::policy::{DeletionPolicy, Feedback, Policies};
use crate::release::{StageName, StageState, Sync};
use crate::time::Timestamp;

/// The full list of what a cluster should hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Wants {
    /// Grows whenever the list changes; the agent waits for a greater one.
    pub version: i64,
    /// One entry per release.
    pub releases: Vec<Want>,
    /// What the hub wants to know for plans; each is answered once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asks: Vec<Ask>,
}

/// What a cluster should do about one release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Want {
    /// The release.
    pub release: ReleaseId,
    /// Name of the workload, for labels and messages.
    pub workload: String,
    /// Grows with every change of `goal`; reports about an older one are dropped.
    pub generation: i64,
    /// Grows when a person asks for a comparison now; the agent forgets back-offs when it sees a new one.
    pub sync_nonce: i64,
    /// What should be.
    pub goal: Goal,
}

/// What should be of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Goal {
    /// The bundle with this digest, applied and kept.
    #[serde(rename_all = "camelCase")]
    Present {
        /// Digest of the bundle.
        bundle: Digest,
        /// Number of the revision it was rendered from.
        revision: u32,
        /// How it is kept.
        policies: Policies,
    },
    /// Nothing.
    Absent {
        /// Whether the objects go or stay.
        deletion: DeletionPolicy,
        /// How it was kept: which objects stay, and who deletes.
        #[serde(default)]
        policies: Policies,
    },
}

/// Reports of one agent, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportBatch {
    /// Made anew whenever the agent starts, greater than before (milliseconds since the epoch will do).
    pub incarnation: i64,
    /// 1, 2, 3 … within one incarnation; a batch not greater than the last one taken is dropped.
    pub seq: i64,
    /// The cluster's facts, when they changed since the last batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<ClusterFacts>,
    /// Digest of what its API server says of the structure of its kinds, when that changed since the last batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Digest>,
    /// What is to be said.
    pub releases: Vec<ReleaseReport>,
}

/// All there is to say about one release on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReleaseReport {
    /// The release.
    pub release: ReleaseId,
    /// The generation of the want this is about.
    pub generation: i64,
    /// Digest of the bundle that is applied completely, if one is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Digest>,
    /// The agent's stages ([`StageName::Notified`] to [`StageName::Operational`]); a stage left out is pending.
    pub stages: Vec<StageReport>,
    /// Whether live objects are as applied.
    pub sync: Sync,
    /// The worst of its objects.
    pub health: Health,
    /// Every object, in the order of the bundle, leftovers last.
    pub resources: Vec<ResourceStatus>,
    /// Drift found, healed or given up since the last report about this release.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drift: Vec<DriftNote>,
    /// True once nothing of the release is left on the cluster, its record included (or all was orphaned).
    pub gone: bool,
}

/// The state of one of the agent's stages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StageReport {
    /// Which one.
    pub name: StageName,
    /// How far it is.
    pub state: StageState,
}

/// Since when an object is as it is, by the agent's clock; shown, never compared.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Since {
    /// Since when it is applied, or is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub applied: Option<Timestamp>,
    /// Since when it is on the cluster, or is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub available: Option<Timestamp>,
    /// Since when it has drifted, or has not.
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
    /// Whether the wanted content is applied.
    pub applied: bool,
    /// Whether it is on the cluster; `None` while nobody has looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available: Option<bool>,
    /// Its health.
    pub health: Health,
    /// Fields that differ from what was applied, as JSON pointers; empty when in sync.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drifted: Vec<String>,
    /// Causes found in its pods, worst first (`health.md` C.3).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// Why it could not be applied or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Finding>,
    /// Values of the live object that people want to see.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feedback: Vec<Feedback>,
    /// Since when.
    #[serde(default)]
    pub since: Since,
    /// The same in the form of Kubernetes, derived when it is shown ([`crate::condition::of_resource`]).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
}

/// What became of a drift.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum DriftOutcome {
    /// Found, and left or not yet put back.
    Found,
    /// Put back.
    Healed,
    /// Put back several times and changed again each time.
    Contested,
}

/// Somebody changed an applied object, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DriftNote {
    /// Which object.
    pub object: ObjectRef,
    /// JSON pointers of the changed fields; empty when the object was deleted.
    pub fields: Vec<String>,
    /// The field manager who changed them, as far as the cluster tells.
    pub manager: String,
    /// What became of it.
    pub outcome: DriftOutcome,
    /// When, by the agent's clock; shown, never compared.
    pub at: Timestamp,
}

/// What the hub answers to a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportAck {
    /// Whether the batch was taken; false when it was late or replayed.
    pub taken: bool,
    /// The current version of the wants, so that a missed notice shows at once.
    pub wants_version: i64,
    /// Whether the hub does not have the schema that the batch names, and would like to be given it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub schema_wanted: bool,
}
