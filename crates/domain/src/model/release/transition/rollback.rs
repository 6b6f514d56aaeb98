//! The rollback of one cluster on which a revision fails: what `atomic` asks for (S1-10), and the policy `rollbackOnFailure` of a
//! rollout.
//!
//! The revision stays the desired one, and its gate ends, so that no pass delivers it again: only a sync or the next publish does.

use crate::kubernetes::time::Timestamp;
use crate::model::policy::{ConflictPolicy, HelmReleasePolicy, Policies};
use crate::model::release::stage::StageReason;
use crate::model::release::{Gate, Reason, Release, ReleaseGoal, StageName, StageState, SyncStatus};

impl Release {
    /// Records what the cluster has applied completely before it gets another revision. A bundle that was never applied completely leaves
    /// the one before it. The bundle itself may be the same.
    pub(super) fn record_previous(&mut self) {
        if self.released_revision == self.revision {
            return;
        }
        let is_present = self.goal == ReleaseGoal::Present;
        if is_present && self.applied.is_some() && self.applied == self.released {
            self.previous.clone_from(&self.applied);
            self.previous_revision = self.released_revision;
        } else if !is_present || self.installed_revision.is_none() {
            (self.previous, self.previous_revision) = (None, None);
        }
    }

    /// Whether its cluster fails with the desired revision, which has not been operational there before, and it is known what the cluster
    /// ran before: another bundle, or nothing.
    pub fn can_roll_back(&self) -> bool {
        self.goal == ReleaseGoal::Present
            && self.gate == Gate::Open
            && self.revision.is_some()
            && self.released_revision == self.revision
            && self.confirmed_revision != self.revision
            && self.state().is_failing()
            && match &self.previous {
                Some(_) => self.previous != self.released,
                None => self.is_removable_installation(),
            }
    }

    /// Whether nothing of the workload was on the cluster before the desired revision, and that took over no objects of others: they were
    /// there before it, so that a removal would lose them. A release that ran before its rollback was recorded has no bundle to return to,
    /// and is no first installation.
    fn is_removable_installation(&self) -> bool {
        let is_first = self.installed_revision.is_none_or(|first| Some(first) == self.revision);
        is_first
            && self.policies.conflict == ConflictPolicy::Abort
            && self.policies.helm_release != HelmReleasePolicy::Adopt
    }

    /// Returns to the bundle that was applied before its failing revision, with the `policies` of that one; a first installation is
    /// removed by its deletion policy. Returns whether it was rolled back.
    pub fn roll_back(&mut self, policies: Policies, at: Timestamp) -> bool {
        if !self.can_roll_back() {
            return false;
        }
        let message = self.describe_rollback();
        self.update_tracking_state(at, |release| {
            release.generation += 1;
            release.stages.reset_from(StageName::Notified);
            release.released.clone_from(&release.previous);
            release.released_revision = release.previous_revision;
            if release.released.is_some() {
                release.policies = policies;
                release.sync = release.initial_sync();
                release.update_applied_revision();
            } else {
                let deletion = release.policies.deletion;
                release.goal = ReleaseGoal::Removing { deletion, message: message.clone(), since: at };
                release.sync = SyncStatus::Removing;
            }
            release.gate = Gate::Aborted;
            let rolled_back = StageReason::new(Reason::RolledBack, message);
            release.stages.set(StageName::Released, StageState::Waiting(rolled_back), at);
        });
        true
    }

    /// What failed and what is done about it, as a sentence for people.
    fn describe_rollback(&self) -> String {
        let revision = self.revision.unwrap_or_default();
        let back = match self.previous_revision {
            Some(previous) => format!("it was rolled back to revision {previous}"),
            None => "its first installation was rolled back".to_owned(),
        };
        let cause = self.message();
        let cause = if cause.is_empty() { "The cause is not known." } else { cause.as_str() };
        format!("Revision {revision} failed here, and {back}. {cause}")
    }

    /// Why its desired revision was rolled back on its cluster; `None` if it was not.
    pub fn rollback_cause(&self) -> Option<&str> {
        self.stages.rollback_cause().filter(|_| self.gate == Gate::Aborted)
    }

    /// The message of a release that was rolled back: the cause, and what the return to the bundle before fails with, if it does.
    pub(crate) fn rolled_back_message(&self) -> Option<String> {
        let cause = self.rollback_cause()?;
        Some(match self.rollback_failure() {
            Some(reason) => format!("{cause} The rollback fails: {reason}"),
            None => cause.to_owned(),
        })
    }

    /// Whether this revision was rolled back on its cluster: it is not delivered again without a request.
    pub fn is_rolled_back_from(&self, revision: u32) -> bool {
        self.revision == Some(revision) && self.rollback_cause().is_some()
    }

    /// Whether the cluster is still returning to the bundle before, and does not fail with it.
    pub fn is_rolling_back(&self) -> bool {
        let is_applied = self.stages.get(StageName::Applied).state.is_finished();
        let is_rolled_back = self.goal == ReleaseGoal::Present && self.rollback_cause().is_some();
        is_rolled_back && !is_applied && self.rollback_failure().is_none()
    }

    /// Why the return to the bundle before fails; `None` while it does not.
    fn rollback_failure(&self) -> Option<&str> {
        let mut later = self.stages.iter().filter(|stage| stage.name > StageName::Released);
        later.find_map(|stage| match &stage.state {
            StageState::Failed(reason) => Some(reason.text()),
            _ => None,
        })
    }

    /// Gates the revision that was rolled back, so that its rollout admits the cluster again. Returns whether it was rolled back.
    pub fn retry_rolled_back(&mut self, at: Timestamp) -> bool {
        if self.rollback_cause().is_none() {
            return false;
        }
        let desired = self.desired.clone();
        let waiting = StageReason::new(Reason::WaitingForWave, "Waiting to be admitted again.");
        self.update_tracking_state(at, |release| {
            release.stop_at_stage(StageName::Released, StageState::Waiting(waiting), desired, at);
            release.gate = Gate::Closed;
        });
        true
    }
}
