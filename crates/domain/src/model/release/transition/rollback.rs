//! Rollback of one release after failures: its cluster returns to what it ran before the desired revision.
//!
//! The rollout says which releases: those that fail, or also others of their waves (`onFailure`). The revision stays the desired one, and
//! its gate ends ([`Gate::RolledBack`]), so that no pass delivers it again.

use serde::{Deserialize, Serialize};

use crate::kubernetes::digest::Digest;
use crate::kubernetes::time::Timestamp;
use crate::model::policy::{ConflictPolicy, HelmReleasePolicy, Policies};
use crate::model::release::stage::StageReason;
use crate::model::release::{Gate, Reason, Release, ReleaseGoal, StageName, StageState, SyncStatus};

/// What a cluster applied completely before the released revision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub struct RollbackTarget {
    /// Number of its revision.
    pub revision: u32,
    /// Digest of its bundle, which is stored as long as this is.
    pub bundle: Digest,
    /// The policies that were released with it.
    pub policies: Policies,
}

impl Release {
    /// Records what the cluster has applied completely, before it gets another revision. A revision that was never applied completely
    /// leaves what was recorded before it. The bundle of both may be the same.
    pub(super) fn record_rollback_target(&mut self) {
        if self.released_revision == self.revision {
            return;
        }
        let is_present = self.goal == ReleaseGoal::Present;
        let is_applied = is_present && self.applied == self.released;
        match self.released_revision.zip(self.applied.clone()).filter(|_| is_applied) {
            Some((revision, bundle)) => {
                let policies = self.policies.clone();
                self.rollback = Some(RollbackTarget { revision, bundle, policies });
            }
            None if is_present && self.installed_revision.is_some() => {}
            None => self.rollback = None,
        }
    }

    /// Whether its cluster may apply the desired bundle, and is not suspended.
    fn is_delivered(&self) -> bool {
        self.goal == ReleaseGoal::Present
            && self.gate == Gate::Open
            && !self.is_suspended()
            && self.desired.is_some()
            && self.desired == self.released
            && self.released_revision == self.revision
    }

    /// What it returns to: another bundle than the released one.
    fn find_rollback_target(&self) -> Option<&RollbackTarget> {
        self.rollback.as_ref().filter(|before| Some(&before.bundle) != self.released.as_ref())
    }

    /// Whether its cluster fails with the desired revision, which has not been operational there before, and it is known what the cluster
    /// ran before: another bundle, or nothing.
    pub fn can_roll_back(&self) -> bool {
        let is_known = match &self.rollback {
            Some(_) => self.find_rollback_target().is_some(),
            None => self.is_removable_installation(),
        };
        is_known
            && self.is_delivered()
            && self.confirmed_revision != self.revision
            && self.state().is_failing()
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

    /// Returns to what its cluster ran before the desired revision, because that fails there; a first installation is removed by its
    /// deletion policy. Returns whether it was rolled back.
    pub fn roll_back_failing(&mut self, at: Timestamp) -> bool {
        if !self.can_roll_back() {
            return false;
        }
        let failed = StageReason::new(Reason::RolledBack, self.describe_own_failure());
        self.return_to(self.rollback.clone(), StageState::Failed(failed), at);
        true
    }

    /// Returns to what its cluster ran before the desired revision, because too many clusters of the rollout fail, as the sentence `why`
    /// says; also one that works. Returns whether it was rolled back: a cluster that had nothing before keeps the revision, because a
    /// removal would delete what it may have written meanwhile.
    pub fn roll_back_with_rollout(&mut self, why: &str, at: Timestamp) -> bool {
        let Some(before) = self.find_rollback_target().cloned().filter(|_| self.is_delivered()) else {
            return false;
        };
        let state = if self.state().is_failing() {
            StageState::Failed(StageReason::new(Reason::RolledBack, self.describe_own_failure()))
        } else {
            let message = format!(
                "The rollout of revision {} was rolled back: {why} This cluster has revision {} again until the next publish.",
                self.revision.unwrap_or_default(),
                before.revision
            );
            StageState::Waiting(StageReason::new(Reason::RolledBack, message))
        };
        self.return_to(Some(before), state, at);
        true
    }

    /// Releases `before`, or removes the release from its cluster. `state` says why.
    fn return_to(&mut self, before: Option<RollbackTarget>, state: StageState, at: Timestamp) {
        self.update_tracking_state(at, |release| {
            release.generation += 1;
            release.stages.reset_from(StageName::Notified);
            release.gate = Gate::RolledBack;
            match before {
                Some(before) => {
                    release.policies = before.policies;
                    release.released = Some(before.bundle);
                    release.released_revision = Some(before.revision);
                    release.update_applied_revision();
                    release.sync = release.initial_sync();
                }
                None => {
                    let message = state.reason().map(|reason| reason.text().to_owned()).unwrap_or_default();
                    let deletion = release.policies.deletion;
                    (release.released, release.released_revision) = (None, None);
                    release.goal = ReleaseGoal::Removing { deletion, message, since: at };
                    release.sync = SyncStatus::Removing;
                }
            }
            release.stages.set(StageName::Released, state, at);
        });
    }

    /// What failed and what is done about it, as a sentence for people.
    fn describe_own_failure(&self) -> String {
        let revision = self.revision.unwrap_or_default();
        let back = match &self.rollback {
            Some(before) => format!("it was rolled back to revision {}", before.revision),
            None => "its first installation was rolled back".to_owned(),
        };
        let cause = self.message();
        let cause = if cause.is_empty() { "The cause is not known." } else { cause.as_str() };
        format!("Revision {revision} failed here, and {back}. {cause}")
    }

    /// Why its desired revision was rolled back on its cluster; `None` if it was not.
    pub fn rollback_cause(&self) -> Option<&str> {
        self.ended_message().filter(|_| self.gate == Gate::RolledBack)
    }

    /// Why nothing delivers its desired revision any more by itself; `None` if something may.
    pub(super) fn ended_message(&self) -> Option<&str> {
        Some(self.ended_state()?.reason()?.text())
    }

    /// What stage Released shows of the end of its rollout, also while the release is suspended.
    fn ended_state(&self) -> Option<&StageState> {
        let released = self.stages.get(StageName::Released);
        self.gate.is_ended().then(|| released.ended.as_ref().unwrap_or(&released.state))
    }

    /// Whether its desired revision was rolled back because it failed here, not only elsewhere.
    pub(crate) fn is_rolled_back_by_own_failure(&self) -> bool {
        self.gate == Gate::RolledBack && matches!(self.ended_state(), Some(StageState::Failed(_)))
    }

    /// The message of a release that was rolled back: the cause, and what the return to the bundle before fails with, if it does.
    pub(crate) fn rolled_back_message(&self) -> Option<String> {
        let cause = self.rollback_cause()?;
        Some(match self.rollback_failure() {
            Some(reason) => format!("{cause} The rollback fails: {reason}"),
            None => cause.to_owned(),
        })
    }

    /// Whether this revision was rolled back on its cluster: no pass delivers it again.
    pub fn is_rolled_back_from(&self, revision: u32) -> bool {
        self.revision == Some(revision) && self.gate == Gate::RolledBack
    }

    /// Whether the cluster is still returning to the bundle before, and does not fail with it.
    pub fn is_rolling_back(&self) -> bool {
        let is_applied = self.stages.get(StageName::Applied).state.is_finished();
        let is_rolled_back = self.goal == ReleaseGoal::Present && self.gate == Gate::RolledBack;
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

    /// Gates the revision that was rolled back, so that its rollout admits the cluster again. Returns whether it was rolled back, and is not
    /// suspended.
    pub fn retry_rolled_back(&mut self, at: Timestamp) -> bool {
        if self.gate != Gate::RolledBack || self.is_suspended() {
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
