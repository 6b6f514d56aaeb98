//! Releases: one workload on one cluster, as a state machine.
//!
//! A release has three pointers (desired, released, applied), the target of a rollback, thirteen stages in strict order and three axes
//! (sync, health, connectivity). [`Release::state`] alone derives the displayed state from them. Its fields are private and
//! change only through the transition functions in [`transition`]; they are level-triggered, so a lost, late or repeated message can't leave a
//! release inconsistent.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::Connectivity;
use crate::model::health::{Health, HealthStatus};
use crate::model::policy::{DeletionPolicy, Policies};

mod condition;
mod deadline;
mod details;
#[cfg(test)]
mod properties;
pub mod reason;
mod rendered_facts;
mod row;
pub mod stage;
mod state;
#[cfg(test)]
mod tests;
mod tombstone;
pub mod transition;
mod view;

pub use condition::{release_conditions, resource_conditions};
pub use deadline::describe_missed_deadline;
pub use details::{DesiredFieldValue, DesiredValues, ReleaseDetails};
pub use reason::Reason;
pub use rendered_facts::FactsComparison;
pub use row::ReleaseRow;
pub use stage::{Stage, StageName, StageState, Stages};
pub use state::ReleaseState;
pub use tombstone::Tombstone;
pub use transition::{DesiredRevision, ReleaseSpec, RenderOutcome, ReportRejected, RollbackTarget};
pub use view::ReleaseView;

/// Whether the objects on the cluster match the desired ones: the first axis.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum SyncStatus {
    /// Nothing is applied yet.
    #[default]
    Pending,
    /// Being applied.
    Applying,
    /// Objects match the released bundle.
    Synced,
    /// An older bundle is applied.
    Stale,
    /// Applied objects were changed on the cluster.
    Drifted,
    /// Being removed.
    Removing,
    /// No objects are left.
    Removed,
}

/// Finalizer of a release whose record may still exist on the cluster (S3-10).
pub const FINALIZER: &str = "flotilla.dev/release-cleanup";

impl SyncStatus {
    /// The name, as in JSON and in the console.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Whether the rollout lets the cluster apply the desired bundle.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Gate {
    /// Nothing prevents the delivery.
    #[default]
    Open,
    /// The rollout has not admitted the wave of the cluster yet.
    Closed,
    /// The rollout was aborted or rolled back before it admitted the cluster: that keeps its released bundle until the next publish.
    Aborted,
    /// The cluster was admitted, and got back what it ran before: nothing delivers the revision again by itself.
    RolledBack,
}

impl Gate {
    /// The name, as in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Whether the desired bundle is not delivered any more by itself.
    pub const fn is_ended(self) -> bool {
        matches!(self, Self::Aborted | Self::RolledBack)
    }
}

/// The desired phase of a release, or the final phase that it reached.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum ReleaseGoal {
    /// Applied, and kept in sync.
    Present,
    /// Being removed.
    #[serde(rename_all = "camelCase")]
    Removing {
        /// Whether the objects are deleted or orphaned.
        deletion: DeletionPolicy,
        /// Why, as a sentence for people.
        message: String,
        /// Since when.
        since: Timestamp,
    },
    /// Removed from the cluster.
    Removed {
        /// Since when.
        since: Timestamp,
    },
    /// Its objects stay on the cluster, as its deletion policy requires.
    Orphaned {
        /// Since when.
        since: Timestamp,
    },
    /// Deleted by force without the cluster's confirmation (S1-23).
    Abandoned {
        /// Since when.
        since: Timestamp,
    },
}

/// One workload on one cluster. Only [`transition`] and [`Release::record_rendered_facts`] change it; the store reads it by [`Release::from_row`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// Its id.
    id: ReleaseId,
    /// The workload.
    workload: WorkloadId,
    /// The cluster.
    cluster: ClusterId,
    /// Its desired phase.
    goal: ReleaseGoal,
    /// Increases with every change of the desired state; fences reports.
    generation: i64,
    /// Increases with every sync requested by a person.
    sync_nonce: i64,
    /// Number of the desired revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    revision: Option<u32>,
    /// Index of its rollout wave, from 0; `None` if the rollout has no waves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    wave: Option<u32>,
    /// Whether its rollout lets the cluster apply `desired`.
    gate: Gate,
    /// Its policies.
    policies: Policies,
    /// Digest of the desired revision's bundle, rendered for this cluster.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    desired: Option<Digest>,
    /// Digest of the bundle that the cluster may apply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    released: Option<Digest>,
    /// Revision number of `released`; differs from `revision` unless the gate is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    released_revision: Option<u32>,
    /// Digest of the bundle that the cluster reported as completely applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    applied: Option<Digest>,
    /// What a rollback returns to: what the cluster applied completely before it might apply `released_revision`; `None` if that was
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rollback: Option<RollbackTarget>,
    /// Revision number of `applied`: the latest one with that bundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    applied_revision: Option<u32>,
    /// Number of the first revision that was applied completely since the release is on its cluster; `None` before that. Later
    /// ones are upgrades.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    installed_revision: Option<u32>,
    /// Number of the last revision that was operational on its cluster: one that fails later is not rolled back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confirmed_revision: Option<u32>,
    /// Digest of the facts of the cluster that `rendered_facts_revision` is rendered with: those of its first rendering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rendered_facts: Option<Digest>,
    /// Number of the revision that is rendered with `rendered_facts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rendered_facts_revision: Option<u32>,
    /// What the present facts of the cluster would change; `None` while they are those that it is rendered with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    facts_comparison: Option<FactsComparison>,
    /// Whether its cluster was offline when it might apply `revision` for the first time, and has been since: a rollout does
    /// not take that for an effect of the revision (P29).
    admitted_offline: bool,
    /// When it is past its deadline ([`Policies::deadline`]); `None` without a deadline, while nothing is delivered, and once it is
    /// operational. A time in the past is the mark: nothing else follows from it (S2-3).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline_at: Option<Timestamp>,
    /// The thirteen stages.
    stages: Stages,
    /// First axis: sync.
    sync: SyncStatus,
    /// Second axis: health; the last known one while the cluster is offline.
    health: Health,
    /// Third axis: connectivity of the cluster.
    connectivity: Connectivity,
    /// When the cluster last reported on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reported_at: Option<Timestamp>,
    /// When [`Release::state`] last changed.
    state_since: Timestamp,
}

impl Release {
    /// Whether it is gated by a rollout that can still admit it.
    pub fn is_gated(&self) -> bool {
        self.gate == Gate::Closed
    }

    /// Whether its cluster has this revision by placement: what it runs is present there, or its first installation was rolled back and can
    /// be tried again, although nothing of it is there.
    pub fn is_placed(&self, revision: u32) -> bool {
        self.is_present() || self.is_rolled_back_from(revision)
    }

    /// Whether its cluster runs it, as far as the hub knows: the last report of a cluster that is online says so.
    pub fn is_available(&self) -> bool {
        self.goal == ReleaseGoal::Present
            && self.connectivity == Connectivity::Online
            && self.applied.is_some()
            && match self.health.status {
                HealthStatus::NotAssessed => self.policies.accepts_not_assessed(),
                status => status.is_operational(),
            }
    }

    /// Its finalizers: a release whose record may exist on the cluster is not deleted before the cluster has reported
    /// the record as gone (S3-10, S3-12). Only a forced deletion skips this.
    pub fn finalizers(&self) -> Vec<String> {
        let may_have_record = match self.goal {
            ReleaseGoal::Present => self.released.is_some() || self.applied.is_some(),
            ReleaseGoal::Removing { .. } => true,
            ReleaseGoal::Removed { .. } | ReleaseGoal::Orphaned { .. } | ReleaseGoal::Abandoned { .. } => {
                false
            }
        };
        may_have_record.then(|| FINALIZER.to_owned()).into_iter().collect()
    }
}
