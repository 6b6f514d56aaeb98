//! Releases: one workload on one cluster, as a state machine (`product.md` F.4).
//!
//! A release has three pointers (desired, released, applied), thirteen stages in strict order and three axes (sync,
//! health, reach). The word people read is derived from them in one place, [`Release::state`]. Fields change only
//! through the transition functions in [`transition`]; they are level-triggered, so a lost, late or repeated message
//! can't leave a release half-set.

use serde::{Deserialize, Serialize};

use crate::cluster::Reach;
use crate::condition::{self, Condition};
use crate::digest::Digest;
use crate::health::Health;
use crate::id::{ClusterId, ReleaseId, WorkloadId};
use crate::report::ResourceStatus;
use crate::time::Timestamp;
use crate::workload::{DeletionPolicy, Policies};
use stage::Trouble;

#[cfg(test)]
mod laws;
pub mod stage;
mod state;
#[cfg(test)]
mod tests;
pub mod transition;

pub use stage::{Stage, StageName, StageState, Stages};
pub use state::{ROLLOUT_ENDED, State};
pub use transition::{Dropped, Expected, Next, Rendered};

/// Whether the objects on the cluster are the ones wanted: the first axis.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Sync {
    /// Nothing is applied yet.
    #[default]
    Pending,
    /// Being applied.
    Applying,
    /// As wanted.
    Synced,
    /// An older bundle is applied.
    Stale,
    /// Somebody changed applied objects.
    Drifted,
    /// Being removed.
    Removing,
    /// Nothing is left.
    Removed,
}

/// What holds a release until its record on the cluster is gone (S3-10).
pub const FINALIZER: &str = "flotilla.dev/release-cleanup";

impl Sync {
    /// The word people read.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Applying => "Applying",
            Self::Synced => "Synced",
            Self::Stale => "Stale",
            Self::Drifted => "Drifted",
            Self::Removing => "Removing",
            Self::Removed => "Removed",
        }
    }
}

/// What the hub wants of a release, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReleaseGoal {
    /// Applied and kept.
    Present,
    /// To go.
    #[serde(rename_all = "camelCase")]
    Removing {
        /// Whether the objects go or stay.
        deletion: DeletionPolicy,
        /// Why, in words.
        why: String,
        /// Since when.
        since: Timestamp,
    },
    /// Gone.
    Removed {
        /// Since when.
        since: Timestamp,
    },
    /// Its objects were left on the cluster on purpose.
    Orphaned {
        /// Since when.
        since: Timestamp,
    },
    /// Given up by force while the cluster could not be reached (S1-23).
    Abandoned {
        /// Since when.
        since: Timestamp,
    },
}

/// One workload on one cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// Its id.
    pub id: ReleaseId,
    /// The workload.
    pub workload: WorkloadId,
    /// The cluster.
    pub cluster: ClusterId,
    /// What is wanted of it.
    pub goal: ReleaseGoal,
    /// Grows with every change of what the cluster should do; fences reports.
    pub generation: i64,
    /// Grows when a person asks for a comparison now.
    pub sync_nonce: i64,
    /// Number of the revision it should run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// The wave of its rollout, from 0; `None` if the revision goes everywhere at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wave: Option<u32>,
    /// How it is kept.
    pub policies: Policies,
    /// The revision rendered for this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Digest>,
    /// What the cluster may apply now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released: Option<Digest>,
    /// Number of the revision that this belongs to: another than `revision` while its wave is not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_revision: Option<u32>,
    /// What the cluster says it has applied completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<Digest>,
    /// The thirteen stages.
    pub stages: Stages,
    /// First axis.
    pub sync: Sync,
    /// Second axis; the last known one when the cluster is offline.
    pub health: Health,
    /// Third axis.
    pub reach: Reach,
    /// When its cluster last said something about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reported_at: Option<Timestamp>,
    /// Since when [`Release::state`] is what it is.
    pub state_since: Timestamp,
}

impl Release {
    /// What it waits for, if it is rendered and not let through.
    pub fn turn(&self) -> Option<&Trouble> {
        match &self.stages.get(StageName::Released).state {
            StageState::Waiting(turn) if self.goal == ReleaseGoal::Present && self.desired.is_some() => {
                Some(turn)
            }
            _ => None,
        }
    }

    /// Whether it waits until its rollout lets it through.
    pub fn is_held(&self) -> bool {
        self.turn().is_some_and(|turn| turn.reason != ROLLOUT_ENDED)
    }

    /// What holds it: a release that the cluster may hold a record of is not forgotten before the cluster has said that
    /// the record is gone (S3-10, S3-12). Giving it up by force is the only way around.
    pub fn finalizers(&self) -> Vec<String> {
        let held = match self.goal {
            ReleaseGoal::Present => self.released.is_some() || self.applied.is_some(),
            ReleaseGoal::Removing { .. } => true,
            ReleaseGoal::Removed { .. } | ReleaseGoal::Orphaned { .. } | ReleaseGoal::Abandoned { .. } => {
                false
            }
        };
        held.then(|| FINALIZER.to_owned()).into_iter().collect()
    }
}

/// A release with the names and parts a page or the API shows (S1-19, `product.md` F.2 status).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct ReleaseView {
    /// Name of the workload.
    pub workload_name: String,
    /// Name of the cluster.
    pub cluster_name: String,
    /// Region of the cluster; may be empty.
    pub region: String,
    /// The word for people.
    pub state: State,
    /// What the state was when the cluster was last heard from; only while it is offline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_known_state: Option<State>,
    /// The sentence for people: why it is in this state.
    pub message: String,
    /// The release itself.
    #[serde(flatten)]
    pub release: Release,
    /// What holds it: while the cluster may hold its record, the release is not forgotten (S3-10).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// All of it in the form of Kubernetes.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Its objects.
    #[serde(default)]
    pub resources: Vec<ResourceStatus>,
}

impl ReleaseView {
    /// The view of a release with its names; resources are added by who has them.
    pub fn new(release: Release, workload_name: String, cluster_name: String, region: String) -> Self {
        let state = release.state();
        Self {
            workload_name,
            cluster_name,
            region,
            state,
            last_known_state: (state == State::Unknown).then(|| release.last_known_state()),
            message: release.message(),
            finalizers: release.finalizers(),
            conditions: condition::of_release(&release, &[]),
            release,
            resources: Vec::new(),
        }
    }

    /// The view with its objects, and with the conditions of the release and of each of them.
    #[must_use]
    pub fn with_resources(mut self, resources: Vec<ResourceStatus>) -> Self {
        self.conditions = condition::of_release(&self.release, &resources);
        self.resources = resources;
        for resource in &mut self.resources {
            resource.conditions = condition::of_resource(resource);
        }
        self
    }
}
