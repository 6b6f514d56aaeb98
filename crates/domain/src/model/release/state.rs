//! The displayed state of a release, derived from desired phase, stages and axes. Nothing else derives it.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{Gate, Release, ReleaseGoal, StageName, StageState, SyncStatus};
use crate::model::cluster::Connectivity;
use crate::model::health::{HealthStatus, NOT_ASSESSED_LABEL};
use crate::model::policy::DeletionPolicy;

/// The state of a release. Ordered by severity, so the worst of many is the maximum.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    IntoStaticStr,
    VariantArray,
)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ReleaseState {
    /// Removed from the cluster.
    Removed,
    /// Its objects stay on the cluster, as its deletion policy requires.
    Orphaned,
    /// Deleted by force without the cluster's confirmation.
    Abandoned,
    /// Confirmed and operational.
    Healthy,
    /// Confirmed; nothing says whether it is operational.
    NotAssessed,
    /// Paused on purpose.
    Suspended,
    /// Removal waits for finalizers.
    Terminating,
    /// Being removed.
    Removing,
    /// Targeted, not yet sent.
    Pending,
    /// Released; the agent has not reported on it.
    Queued,
    /// The agent fetches the bundle.
    Pulling,
    /// Being applied.
    Applying,
    /// Applied, not yet operational.
    Progressing,
    /// An older bundle runs.
    Stale,
    /// The cluster is offline; the other fields are the last known ones.
    Unknown,
    /// Applied objects were changed on the cluster.
    Drifted,
    /// Waits for an action of a person.
    Blocked,
    /// Applied, and not healthy.
    Degraded,
    /// A stage failed.
    Failed,
}

impl ReleaseState {
    /// Every state, least severe first.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name, as in the console, in JSON and in the database.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::NotAssessed => NOT_ASSESSED_LABEL,
            other => other.as_str(),
        }
    }

    /// The state of this name.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.as_str() == word)
    }

    /// Whether it needs attention.
    pub const fn is_failing(self) -> bool {
        matches!(self, Self::Failed | Self::Degraded | Self::Blocked)
    }

    /// Whether an incident may open for it: it fails, or its objects were changed on the cluster.
    pub const fn may_open_incident(self) -> bool {
        self.is_failing() || matches!(self, Self::Drifted)
    }

    /// Whether a delivery or removal is in progress.
    pub const fn is_in_transition(self) -> bool {
        matches!(
            self,
            Self::Pending
                | Self::Queued
                | Self::Pulling
                | Self::Applying
                | Self::Progressing
                | Self::Removing
                | Self::Terminating
        )
    }

    /// The message of a release with this last known state while its cluster is offline.
    pub fn last_known_message(self) -> String {
        format!("The cluster is offline; last known state: {}.", self.label())
    }

    /// Whether the release is over and the cluster has nothing left to do.
    pub const fn is_gone(self) -> bool {
        matches!(self, Self::Removed | Self::Orphaned | Self::Abandoned)
    }
}

impl Release {
    /// The derived state.
    pub fn state(&self) -> ReleaseState {
        if self.connectivity == Connectivity::Offline && !self.last_known_state().is_gone() {
            return ReleaseState::Unknown;
        }
        self.last_known_state()
    }

    /// The state by the last report, whether or not the cluster is offline.
    pub fn last_known_state(&self) -> ReleaseState {
        match self.goal {
            ReleaseGoal::Removed { .. } => ReleaseState::Removed,
            ReleaseGoal::Orphaned { .. } => ReleaseState::Orphaned,
            ReleaseGoal::Abandoned { .. } => ReleaseState::Abandoned,
            ReleaseGoal::Removing { .. } => self.removing_state(),
            ReleaseGoal::Present => self.present_state(),
        }
    }

    fn removing_state(&self) -> ReleaseState {
        if self.is_suspended() {
            return ReleaseState::Suspended;
        }
        match &self.stages.get(StageName::Pruned).state {
            StageState::Waiting(_) => ReleaseState::Terminating,
            StageState::Failed(_) => ReleaseState::Failed,
            _ => ReleaseState::Removing,
        }
    }

    fn present_state(&self) -> ReleaseState {
        if self.is_suspended() {
            return self.suspended_state();
        }
        let Some(stage) = self.stages.current() else {
            return self.finished_state();
        };
        if stage.state.reason().is_some_and(|reason| reason.reason.needs_person()) {
            return ReleaseState::Blocked;
        }
        match (stage.name, &stage.state) {
            (StageName::Released, _) if self.is_held_back() => self.gated_state(),
            // Every stage of the agent is finished, and another bundle than the released one is applied.
            (StageName::Confirmed, _) if self.applied != self.released => ReleaseState::Stale,
            (StageName::ImagesPulled | StageName::Operational | StageName::Confirmed, state) => {
                match self.applied_state() {
                    ReleaseState::Progressing if matches!(state, StageState::Failed(_)) => {
                        ReleaseState::Failed
                    }
                    applied => applied,
                }
            }
            (_, StageState::Failed(_)) => ReleaseState::Failed,
            (StageName::Notified, _) => ReleaseState::Queued,
            (StageName::Pulled, _) => ReleaseState::Pulling,
            (name, _) if name > StageName::Pulled => ReleaseState::Applying,
            _ => ReleaseState::Pending,
        }
    }

    /// Whether its desired bundle is rendered and may not be applied yet, so that an earlier one may run.
    fn is_held_back(&self) -> bool {
        self.gate != Gate::Open || self.is_awaiting_dependency()
    }

    /// The state while the desired bundle is held back. Failures, drift and a rollback of what is running take precedence. A revision that
    /// failed here and was rolled back has failed, whatever runs now.
    fn gated_state(&self) -> ReleaseState {
        if self.is_rolled_back_by_own_failure() {
            return ReleaseState::Failed;
        }
        match self.running_state() {
            Some(running) if running.is_failing() || running == ReleaseState::Drifted => running,
            // What runs is being delivered, such as the revision of before by a rollback.
            Some(running) if self.gate.is_ended() && running.is_in_transition() => running,
            _ if self.gate.is_ended() => ReleaseState::Suspended,
            _ => ReleaseState::Pending,
        }
    }

    /// The state of the running bundle, if any was released.
    fn running_state(&self) -> Option<ReleaseState> {
        self.released.as_ref()?;
        let mut running = self.clone();
        running.stages.set(StageName::Released, StageState::Done, self.state_since);
        Some(running.present_state())
    }

    /// The state of an applied release that is not confirmed healthy.
    fn applied_state(&self) -> ReleaseState {
        match self.health.status {
            HealthStatus::Degraded | HealthStatus::Missing => ReleaseState::Degraded,
            HealthStatus::Suspended => ReleaseState::Suspended,
            _ => ReleaseState::Progressing,
        }
    }

    /// Every stage is finished, so the release was confirmed operational; sync and current health decide.
    fn finished_state(&self) -> ReleaseState {
        match (self.sync, self.health.status) {
            (_, status) if !status.is_operational() => self.applied_state(),
            (SyncStatus::Drifted, _) => ReleaseState::Drifted,
            (SyncStatus::Synced, health) if self.applied == self.released => match health {
                HealthStatus::NotAssessed => ReleaseState::NotAssessed,
                _ => ReleaseState::Healthy,
            },
            (SyncStatus::Pending | SyncStatus::Applying, _) => ReleaseState::Applying,
            _ => ReleaseState::Stale,
        }
    }

    /// Why it is in this state, as a sentence for people.
    pub fn message(&self) -> String {
        if self.state() == ReleaseState::Unknown {
            return self.last_known_state().last_known_message();
        }
        self.last_known_message()
    }

    /// The message by the last report, whether or not the cluster is offline.
    pub fn last_known_message(&self) -> String {
        match &self.goal {
            ReleaseGoal::Present => self.present_message(),
            ReleaseGoal::Removing { message: why, .. } => {
                if let Some(message) = self.suspension_message() {
                    return message;
                }
                let stage_reason = self.stages.get(StageName::Pruned).state.reason();
                stage_reason.map_or_else(|| why.clone(), |reason| reason.text().to_owned())
            }
            ReleaseGoal::Removed { .. } => match self.rollback_cause() {
                Some(cause) => cause.to_owned(),
                None => self.removed_message(),
            },
            ReleaseGoal::Orphaned { .. } => match self.rollback_cause() {
                Some(cause) => format!("{cause} Its objects were orphaned: they stay on the cluster."),
                None => "It was orphaned: its objects stay on the cluster.".to_owned(),
            },
            ReleaseGoal::Abandoned { .. } => {
                "It was deleted by force without confirmation of the cluster; its objects may still exist there.".to_owned()
            }
        }
    }

    /// What is gone and what stays. A namespace is not deleted, because Kubernetes can't delete one only if it is empty.
    fn removed_message(&self) -> String {
        let orphaned = if self.policies.deletion == DeletionPolicy::SelectivelyOrphan {
            ", except those that its deletion policy orphans"
        } else {
            ""
        };
        let namespace = if self.policies.create_namespace {
            " A namespace that Flotilla created for them stays."
        } else {
            ""
        };
        match &self.stages.get(StageName::Pruned).state {
            // It names the objects of a chart that stay.
            StageState::Skipped { message } if !message.is_empty() => {
                format!("Its other objects are gone from the cluster{orphaned}. {message}{namespace}")
            }
            _ => format!("All its objects are gone from the cluster{orphaned}.{namespace}"),
        }
    }

    fn present_message(&self) -> String {
        if let Some(message) = self.suspension_message().or_else(|| self.rolled_back_message()) {
            return message;
        }
        match self.present_state() {
            ReleaseState::Drifted => {
                return "Objects were changed on the cluster after they were applied.".to_owned();
            }
            ReleaseState::Stale => {
                return "The cluster runs an older bundle than the desired one.".to_owned();
            }
            _ => {}
        }
        // While it is held back, a failure of what is running takes precedence over what it waits for.
        let skipped =
            (self.is_held_back() && self.present_state().is_failing()).then_some(StageName::Released);
        let mut stages = self.stages.iter().filter(|stage| !stage.state.is_finished());
        match stages.find(|stage| Some(stage.name) != skipped).map(|stage| (stage.name, &stage.state)) {
            Some((_, StageState::Waiting(reason) | StageState::Failed(reason))) => reason.text().to_owned(),
            Some((_, StageState::Running { message })) if !message.is_empty() => message.clone(),
            Some((name, _)) if name > StageName::Applied && !self.health.message.is_empty() => {
                self.health.message.clone()
            }
            Some((name, _)) => format!("Next: {}", name.description()),
            None => self.health.message.clone(),
        }
    }
}
