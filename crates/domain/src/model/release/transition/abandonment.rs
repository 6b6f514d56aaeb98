//! Removals that are given up without the confirmation of the cluster (S1-23).

use super::final_goal;
use crate::kubernetes::time::Timestamp;
use crate::model::policy::DeletionPolicy;
use crate::model::release::{Release, ReleaseGoal, SyncStatus};

impl Release {
    /// Ends a removal without the cluster's confirmation (S1-23). Returns whether anything changed.
    pub fn abandon(&mut self, at: Timestamp) -> bool {
        self.update_tracking_state(at, |release| match release.goal {
            ReleaseGoal::Removing { .. } => {
                release.generation += 1;
                release.goal = ReleaseGoal::Abandoned { since: at };
                true
            }
            _ => false,
        })
    }

    /// The cluster of an abandoned release has removed it after all. Returns whether it was abandoned.
    pub fn confirm_cleanup(&mut self, deletion: DeletionPolicy, at: Timestamp) -> bool {
        self.update_tracking_state(at, |release| {
            let is_abandoned = matches!(release.goal, ReleaseGoal::Abandoned { .. });
            if is_abandoned {
                release.applied = None;
                release.update_applied_revision();
                release.sync = SyncStatus::Removed;
                release.goal = final_goal(deletion, at);
            }
            is_abandoned
        })
    }
}
