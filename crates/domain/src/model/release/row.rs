//! The fields of a release: as a row of the store, and one by one.

use super::{FactsComparison, Gate, Release, ReleaseGoal, RollbackTarget, Stages, SyncStatus};
use crate::kubernetes::digest::Digest;
use crate::kubernetes::id::{ClusterId, ReleaseId, WorkloadId};
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::Connectivity;
use crate::model::health::Health;
use crate::model::policy::Policies;

/// A stored release. The store reads one to build a [`Release`]; it never changes one.
#[derive(Debug, Clone)]
pub struct ReleaseRow {
    /// Its id.
    pub id: ReleaseId,
    /// The workload.
    pub workload: WorkloadId,
    /// The cluster.
    pub cluster: ClusterId,
    /// Its desired phase.
    pub goal: ReleaseGoal,
    /// Increases with every change of the desired state; fences reports.
    pub generation: i64,
    /// Increases with every sync requested by a person.
    pub sync_nonce: i64,
    /// Number of the desired revision.
    pub revision: Option<u32>,
    /// Index of its rollout wave, from 0; `None` if the rollout has no waves.
    pub wave: Option<u32>,
    /// Whether its rollout lets the cluster apply `desired`.
    pub gate: Gate,
    /// Its policies.
    pub policies: Policies,
    /// Digest of the desired revision's bundle, rendered for this cluster.
    pub desired: Option<Digest>,
    /// Digest of the bundle that the cluster may apply.
    pub released: Option<Digest>,
    /// Revision number of `released`; differs from `revision` unless the gate is open.
    pub released_revision: Option<u32>,
    /// Digest of the bundle that a rollback returns to.
    pub rollback_bundle: Option<Digest>,
    /// Revision number of `rollback_bundle`.
    pub rollback_revision: Option<u32>,
    /// The policies that were released with it.
    pub rollback_policies: Option<Policies>,
    /// Digest of the bundle that the cluster reported as completely applied.
    pub applied: Option<Digest>,
    /// Revision number of `applied`.
    pub applied_revision: Option<u32>,
    /// Number of the first revision that was applied completely.
    pub installed_revision: Option<u32>,
    /// Number of the last revision that was operational.
    pub confirmed_revision: Option<u32>,
    /// Digest of the facts that `rendered_facts_revision` is rendered with.
    pub rendered_facts: Option<Digest>,
    /// Number of the revision that is rendered with `rendered_facts`.
    pub rendered_facts_revision: Option<u32>,
    /// What the present facts of the cluster would change.
    pub facts_comparison: Option<FactsComparison>,
    /// Whether its cluster was offline at its admission, and has been since.
    pub admitted_offline: bool,
    /// The thirteen stages.
    pub stages: Stages,
    /// First axis: sync.
    pub sync: SyncStatus,
    /// Second axis: health; the last known one while the cluster is offline.
    pub health: Health,
    /// Third axis: connectivity of the cluster.
    pub connectivity: Connectivity,
    /// When the cluster last reported on it.
    pub reported_at: Option<Timestamp>,
    /// When [`Release::state`] last changed.
    pub state_since: Timestamp,
}

impl Release {
    /// The release of a stored row.
    pub fn from_row(row: ReleaseRow) -> Self {
        let rollback = row.rollback_bundle.zip(row.rollback_revision).zip(row.rollback_policies);
        Self {
            rollback: rollback.map(|((bundle, revision), policies)| RollbackTarget {
                revision,
                bundle,
                policies,
            }),
            id: row.id,
            workload: row.workload,
            cluster: row.cluster,
            goal: row.goal,
            generation: row.generation,
            sync_nonce: row.sync_nonce,
            revision: row.revision,
            wave: row.wave,
            gate: row.gate,
            policies: row.policies,
            desired: row.desired,
            released: row.released,
            released_revision: row.released_revision,
            applied: row.applied,
            applied_revision: row.applied_revision,
            installed_revision: row.installed_revision,
            confirmed_revision: row.confirmed_revision,
            rendered_facts: row.rendered_facts,
            rendered_facts_revision: row.rendered_facts_revision,
            facts_comparison: row.facts_comparison,
            admitted_offline: row.admitted_offline,
            stages: row.stages,
            sync: row.sync,
            health: row.health,
            connectivity: row.connectivity,
            reported_at: row.reported_at,
            state_since: row.state_since,
        }
    }

    /// Its id.
    pub const fn id(&self) -> ReleaseId {
        self.id
    }

    /// The workload.
    pub const fn workload(&self) -> WorkloadId {
        self.workload
    }

    /// The cluster.
    pub const fn cluster(&self) -> ClusterId {
        self.cluster
    }

    /// Its desired phase.
    pub const fn goal(&self) -> &ReleaseGoal {
        &self.goal
    }

    /// Whether its objects are desired on the cluster.
    pub fn is_present(&self) -> bool {
        self.goal == ReleaseGoal::Present
    }

    /// Increases with every change of the desired state.
    pub const fn generation(&self) -> i64 {
        self.generation
    }

    /// Number of syncs requested by a person.
    pub const fn sync_nonce(&self) -> i64 {
        self.sync_nonce
    }

    /// Number of the desired revision.
    pub const fn revision(&self) -> Option<u32> {
        self.revision
    }

    /// Index of its rollout wave, from 0.
    pub const fn wave(&self) -> Option<u32> {
        self.wave
    }

    /// Whether its rollout lets the cluster apply the desired bundle.
    pub const fn gate(&self) -> Gate {
        self.gate
    }

    /// Its policies.
    pub const fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Digest of the desired bundle.
    pub const fn desired(&self) -> Option<&Digest> {
        self.desired.as_ref()
    }

    /// Digest of the bundle that the cluster may apply.
    pub const fn released(&self) -> Option<&Digest> {
        self.released.as_ref()
    }

    /// Revision number of the released bundle.
    pub const fn released_revision(&self) -> Option<u32> {
        self.released_revision
    }

    /// What a rollback returns to; `None` if nothing was applied completely before.
    pub const fn rollback(&self) -> Option<&RollbackTarget> {
        self.rollback.as_ref()
    }

    /// Digest of the bundle that the cluster reported as completely applied.
    pub const fn applied(&self) -> Option<&Digest> {
        self.applied.as_ref()
    }

    /// Revision number of the applied bundle, the latest one with that bundle; `None` while nothing is applied.
    pub const fn applied_revision(&self) -> Option<u32> {
        self.applied_revision
    }

    /// Number of the first revision that was applied completely since the release is on its cluster.
    pub const fn installed_revision(&self) -> Option<u32> {
        self.installed_revision
    }

    /// Number of the last revision that was operational on its cluster.
    pub const fn confirmed_revision(&self) -> Option<u32> {
        self.confirmed_revision
    }

    /// Digest of the facts that [`Self::rendered_facts_revision`] is rendered with.
    pub const fn rendered_facts(&self) -> Option<&Digest> {
        self.rendered_facts.as_ref()
    }

    /// Number of the revision that is rendered with [`Self::rendered_facts`].
    pub const fn rendered_facts_revision(&self) -> Option<u32> {
        self.rendered_facts_revision
    }

    /// What the present facts of the cluster would change.
    pub const fn facts_comparison(&self) -> Option<&FactsComparison> {
        self.facts_comparison.as_ref()
    }

    /// Whether its cluster was offline at its admission, and has been since.
    pub const fn is_admitted_offline(&self) -> bool {
        self.admitted_offline
    }

    /// The thirteen stages.
    pub const fn stages(&self) -> &Stages {
        &self.stages
    }

    /// The axis sync.
    pub const fn sync(&self) -> SyncStatus {
        self.sync
    }

    /// The axis health.
    pub const fn health(&self) -> &Health {
        &self.health
    }

    /// The axis connectivity.
    pub const fn connectivity(&self) -> Connectivity {
        self.connectivity
    }

    /// When the cluster last reported on it.
    pub const fn reported_at(&self) -> Option<Timestamp> {
        self.reported_at
    }

    /// When [`Release::state`] last changed.
    pub const fn state_since(&self) -> Timestamp {
        self.state_since
    }
}
