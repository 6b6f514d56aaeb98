//! A release that a user suspended: nothing is applied, reverted or deleted on its cluster until it is resumed (S2-11).
//!
//! Stage Released shows the suspension. A suspended release is in no wave: it neither blocks a rollout nor counts as operational
//! in it. The gate of its rollout is set again by the placer when it is resumed. One that has ended stays as it is: a resume delivers no
//! revision that was rolled back or whose rollout was aborted.

use super::{DesiredRevision, RenderOutcome};
use crate::kubernetes::time::Timestamp;
use crate::model::health::HealthStatus;
use crate::model::release::stage::StageReason;
use crate::model::release::{
    Gate, Reason, Release, ReleaseGoal, ReleaseState, StageName, StageState, SyncStatus,
};

impl Release {
    /// Suspends it for the reason `message`. Returns whether anything changed; one that is over is not suspended.
    pub fn suspend(&mut self, message: &str, at: Timestamp) -> bool {
        let is_active = matches!(self.goal, ReleaseGoal::Present | ReleaseGoal::Removing { .. });
        let is_unchanged =
            self.suspension_reason() == Some(message) && self.wave.is_none() && self.gate != Gate::Closed;
        if !is_active || is_unchanged {
            return false;
        }
        self.update_tracking_state(at, |release| {
            release.wave = None;
            if !release.gate.is_ended() {
                release.gate = Gate::Open;
            }
            release.show_suspension(message, at);
        });
        true
    }

    /// Ends its suspension. Returns whether it was suspended. What is desired meanwhile is delivered by the next placement.
    pub fn resume(&mut self, at: Timestamp) -> bool {
        let was_suspended = self.is_suspended();
        if was_suspended {
            self.update_tracking_state(at, |release| {
                let is_delivered = release.desired.is_some()
                    && release.desired == release.released
                    && release.revision == release.released_revision;
                let is_done = is_delivered || matches!(release.goal, ReleaseGoal::Removing { .. });
                let ended = release.stages.get(StageName::Released).ended.clone();
                let state = match ended.filter(|_| release.gate.is_ended()) {
                    Some(ended) => ended,
                    None if is_done => StageState::Done,
                    None => StageState::Pending,
                };
                release.stages.set(StageName::Released, state, at);
            });
        }
        was_suspended
    }

    /// Sets the desired revision of a suspended release, for the reason `message`: the cluster keeps what it has, and gets the revision
    /// when it is resumed. Returns whether the desired state of the cluster changed.
    pub fn hold_suspended(&mut self, next: DesiredRevision, message: &str, at: Timestamp) -> bool {
        let DesiredRevision { revision, outcome, .. } = next;
        let is_same =
            matches!(&outcome, RenderOutcome::Bundle(digest) if self.desired.as_ref() == Some(digest));
        let is_held = is_same && self.goal == ReleaseGoal::Present && self.revision == Some(revision);
        // What was rolled back is not delivered by a resume, whatever it is rendered to meanwhile.
        if is_held || self.is_rolled_back_from(revision) {
            self.suspend(message, at);
            return false;
        }
        // Since when it is suspended does not change with what it holds.
        let since = self.stages.get(StageName::Released).started_at.filter(|_| self.is_suspended());
        self.update_tracking_state(at, |release| {
            release.revision = Some(revision);
            release.wave = None;
            let is_changed = match outcome {
                RenderOutcome::Bundle(digest) => {
                    release.stop_at_stage(StageName::Released, StageState::Pending, Some(digest), at)
                }
                RenderOutcome::Failed(reason) => release.stop_at_rendering(StageState::Failed(reason), at),
                RenderOutcome::Waiting(reason) => release.stop_at_rendering(StageState::Waiting(reason), at),
            };
            release.show_suspension(message, since.unwrap_or(at));
            is_changed
        })
    }

    fn show_suspension(&mut self, message: &str, at: Timestamp) {
        let released = self.stages.get(StageName::Released);
        let ended = if self.is_suspended() { released.ended.clone() } else { Some(released.state.clone()) };
        if !self.is_suspended() {
            // The stage begins again: it may have been done long before.
            self.stages.set(StageName::Released, StageState::Pending, at);
        }
        let reason = StageReason::new(Reason::Suspended, message);
        self.stages.set(StageName::Released, StageState::Waiting(reason), at);
        self.stages.set_ended(ended.filter(|_| self.gate.is_ended()));
    }

    /// Whether a user suspended it, its workload or its cluster.
    pub fn is_suspended(&self) -> bool {
        self.suspension_reason().is_some()
    }

    /// By whom, since when and why it is suspended, as sentences for people.
    pub fn suspension_reason(&self) -> Option<&str> {
        let reason = self.stages.get(StageName::Released).state.reason();
        reason.filter(|reason| reason.reason == Reason::Suspended).map(StageReason::text)
    }

    /// The state while it is suspended. What runs and is broken takes precedence: nobody can see otherwise that it has to be repaired.
    pub(in crate::model::release) fn suspended_state(&self) -> ReleaseState {
        match self.health.status {
            HealthStatus::Degraded | HealthStatus::Missing if self.applied.is_some() => {
                ReleaseState::Degraded
            }
            _ => ReleaseState::Suspended,
        }
    }

    /// Why nothing is done, with what is known to differ on the cluster; `None` if it is not suspended.
    pub(in crate::model::release) fn suspension_message(&self) -> Option<String> {
        let reason = self.suspension_reason()?;
        let waiting = match self.goal {
            ReleaseGoal::Removing { .. } => " Its removal waits.".to_owned(),
            _ if self.gate.is_ended() => {
                self.ended_message().map(|why| format!(" {why}")).unwrap_or_default()
            }
            _ if self.desired.is_some() && self.desired != self.applied => {
                " The desired revision waits.".to_owned()
            }
            _ => String::new(),
        };
        let drift = if self.sync == SyncStatus::Drifted {
            " Objects were changed on the cluster; nothing is reverted."
        } else {
            ""
        };
        let health = match self.suspended_state() {
            ReleaseState::Degraded if !self.health.message.is_empty() => format!("{} ", self.health.message),
            _ => String::new(),
        };
        Some(format!("{health}{reason}{waiting}{drift}"))
    }
}
