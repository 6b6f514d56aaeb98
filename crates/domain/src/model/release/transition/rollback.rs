//! Rollback of one release: the cluster gets back what it might apply before its rollout admitted it.

use serde::{Deserialize, Serialize};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::time::Timestamp;
use crate::model::policy::Policies;
use crate::model::release::stage::StageReason;
use crate::model::release::{Gate, Reason, Release, ReleaseGoal, StageName, StageState};

/// What a cluster might apply before its rollout admitted it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RollbackTarget {
    /// Number of its revision.
    pub revision: u32,
    /// Digest of its bundle, which is stored as long as this is.
    pub bundle: Digest,
    /// Its policies.
    pub policies: Policies,
}

impl Release {
    /// Sets the number of the desired revision. Another one has no rollback before it is released.
    pub(super) fn desire_revision(&mut self, revision: u32) {
        if self.revision != Some(revision) {
            self.rollback = None;
        }
        self.revision = Some(revision);
    }

    /// Records what the cluster might apply until now, when a wave delivers another revision. A later delivery of the same revision
    /// changes nothing: a rollback is to the revision from before the rollout.
    pub(super) fn record_rollback_target(&mut self) {
        if self.released_revision == self.revision {
            return;
        }
        let is_in_wave = self.wave.is_some() && self.goal == ReleaseGoal::Present;
        let released = self.released_revision.zip(self.released.clone()).filter(|_| is_in_wave);
        self.rollback = released.map(|(revision, bundle)| {
            let policies = self.policies.clone();
            RollbackTarget { revision, bundle, policies }
        });
    }

    /// Releases again what the cluster might apply before its rollout admitted it, and holds the desired revision back until the next
    /// publish, as `message` says. Returns whether it did: a release that the rollout has not admitted, that had nothing before, or that is
    /// rolled back already stays as it is.
    pub fn roll_back(&mut self, message: impl Into<String>, at: Timestamp) -> bool {
        let is_delivered = self.goal == ReleaseGoal::Present
            && self.gate == Gate::Open
            && self.desired.is_some()
            && self.released_revision == self.revision;
        let Some(before) = self.rollback.clone().filter(|_| is_delivered) else { return false };
        let reason = StageReason::new(Reason::RolloutAborted, message);
        self.update_tracking_state(at, |release| {
            release.generation += 1;
            release.gate = Gate::Aborted;
            release.policies = before.policies;
            release.released = Some(before.bundle);
            release.released_revision = Some(before.revision);
            release.update_applied_revision();
            release.sync = release.initial_sync();
            release.stages.reset_from(StageName::Accepted);
            release.finish_hub_stages(StageName::Released, at);
            release.stages.set(StageName::Released, StageState::Waiting(reason), at);
        });
        true
    }
}
