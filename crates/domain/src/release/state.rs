//! The word for people, derived from goal, stages and axes in this one place.

use serde::{Deserialize, Serialize};

use super::stage::Trouble;
use super::{Release, ReleaseGoal, StageName, StageState, Sync};
use crate::cluster::Reach;
use crate::health::HealthStatus;

/// What a release is, in one word. Ordered from quiet to loud, so the worst of many is the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum State {
    /// Gone.
    Removed,
    /// Left on the cluster on purpose.
    Orphaned,
    /// Given up by force.
    Abandoned,
    /// Confirmed and operational.
    Healthy,
    /// Paused on purpose.
    Suspended,
    /// Removal waits for finalizers.
    Terminating,
    /// Being removed.
    Removing,
    /// Targeted, not yet sent.
    Pending,
    /// Sent; the agent has not answered.
    Queued,
    /// The agent fetches the bundle.
    Pulling,
    /// Being applied.
    Applying,
    /// Applied, not yet operational.
    Progressing,
    /// An older bundle runs.
    Stale,
    /// The cluster can't be heard; what is shown is the last known.
    Unknown,
    /// Somebody changed applied objects.
    Drifted,
    /// Waits for a person.
    Blocked,
    /// Applied and broken.
    Degraded,
    /// A stage failed; it is tried again.
    Failed,
}

/// Why a cluster waits for a wave that will not come: its rollout was ended.
pub const ROLLOUT_ENDED: &str = "RolloutEnded";

/// Reasons that only a person can clear.
const NEEDS_A_PERSON: [&str; 6] =
    ["WaitingForApproval", "ResourceConflict", "ApplyConflict", "NotIdentical", "BlastRadius", "HubBehind"];

impl State {
    /// Every state, quiet first.
    pub const ALL: [Self; 18] = [
        Self::Removed,
        Self::Orphaned,
        Self::Abandoned,
        Self::Healthy,
        Self::Suspended,
        Self::Terminating,
        Self::Removing,
        Self::Pending,
        Self::Queued,
        Self::Pulling,
        Self::Applying,
        Self::Progressing,
        Self::Stale,
        Self::Unknown,
        Self::Drifted,
        Self::Blocked,
        Self::Degraded,
        Self::Failed,
    ];

    /// The word people read and the database keeps.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Removed => "Removed",
            Self::Orphaned => "Orphaned",
            Self::Abandoned => "Abandoned",
            Self::Healthy => "Healthy",
            Self::Suspended => "Suspended",
            Self::Terminating => "Terminating",
            Self::Removing => "Removing",
            Self::Pending => "Pending",
            Self::Queued => "Queued",
            Self::Pulling => "Pulling",
            Self::Applying => "Applying",
            Self::Progressing => "Progressing",
            Self::Stale => "Stale",
            Self::Unknown => "Unknown",
            Self::Drifted => "Drifted",
            Self::Blocked => "Blocked",
            Self::Degraded => "Degraded",
            Self::Failed => "Failed",
        }
    }

    /// The state with this word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether somebody should look.
    pub const fn is_failing(self) -> bool {
        matches!(self, Self::Failed | Self::Degraded | Self::Blocked)
    }

    /// Whether it is on its way.
    pub const fn is_moving(self) -> bool {
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

    /// The sentence about a release that was last known to be this, while its cluster is not heard from.
    pub fn unheard(self) -> String {
        format!("The cluster is not heard from; last known: {}.", self.word())
    }

    /// Whether nothing is expected on the cluster any more.
    pub const fn is_gone(self) -> bool {
        matches!(self, Self::Removed | Self::Orphaned | Self::Abandoned)
    }
}

impl Release {
    /// What it is, in one word.
    pub fn state(&self) -> State {
        if self.reach == Reach::Offline && !self.last_known_state().is_gone() {
            return State::Unknown;
        }
        self.last_known_state()
    }

    /// What it is as far as the hub has heard, whether or not the cluster still answers.
    pub fn last_known_state(&self) -> State {
        match self.goal {
            ReleaseGoal::Removed { .. } => State::Removed,
            ReleaseGoal::Orphaned { .. } => State::Orphaned,
            ReleaseGoal::Abandoned { .. } => State::Abandoned,
            ReleaseGoal::Removing { .. } => self.removing_state(),
            ReleaseGoal::Present => self.present_state(),
        }
    }

    fn removing_state(&self) -> State {
        match &self.stages.get(StageName::Pruned).state {
            StageState::Waiting(_) => State::Terminating,
            StageState::Failed(_) => State::Failed,
            _ => State::Removing,
        }
    }

    fn present_state(&self) -> State {
        let Some(stage) = self.stages.current() else {
            return self.settled_state();
        };
        if let Some(trouble) = stage.state.trouble()
            && NEEDS_A_PERSON.contains(&trouble.reason.as_str())
        {
            return State::Blocked;
        }
        match (stage.name, &stage.state) {
            (StageName::Released, StageState::Waiting(trouble)) => self.held_state(trouble),
            // The cluster has done all it can and runs something else than it should.
            (StageName::Confirmed, _) if self.applied != self.released => State::Stale,
            (StageName::ImagesPulled | StageName::Operational | StageName::Confirmed, state) => {
                match self.applied_state() {
                    State::Progressing if matches!(state, StageState::Failed(_)) => State::Failed,
                    applied => applied,
                }
            }
            (_, StageState::Failed(_)) => State::Failed,
            (StageName::Notified, _) => State::Queued,
            (StageName::Pulled, _) => State::Pulling,
            (name, _) if name > StageName::Pulled => State::Applying,
            _ => State::Pending,
        }
    }

    /// Waits until its rollout lets it through. What runs there meanwhile is watched on.
    fn held_state(&self, turn: &Trouble) -> State {
        match self.running_state() {
            Some(running) if running.is_failing() || running == State::Drifted => running,
            _ if turn.reason == ROLLOUT_ENDED => State::Suspended,
            _ => State::Pending,
        }
    }

    /// The word for what runs there, if anything was ever let through.
    fn running_state(&self) -> Option<State> {
        self.released.as_ref()?;
        let mut running = self.clone();
        running.stages.set(StageName::Released, StageState::Done, self.state_since);
        Some(running.present_state())
    }

    /// Applied, but not everything is over.
    fn applied_state(&self) -> State {
        match self.health.status {
            HealthStatus::Degraded | HealthStatus::Missing => State::Degraded,
            HealthStatus::Suspended => State::Suspended,
            _ => State::Progressing,
        }
    }

    /// Every stage is over, so it was confirmed healthy; what is left is whether the objects still are as applied.
    fn settled_state(&self) -> State {
        match (self.sync, self.health.status) {
            (_, status) if status != HealthStatus::Healthy => self.applied_state(),
            (Sync::Drifted, _) => State::Drifted,
            (Sync::Synced, _) if self.applied == self.released => State::Healthy,
            (Sync::Pending | Sync::Applying, _) => State::Applying,
            _ => State::Stale,
        }
    }

    /// Why it is in this state: one sentence for people.
    pub fn message(&self) -> String {
        if self.state() == State::Unknown {
            return self.last_known_state().unheard();
        }
        match &self.goal {
            ReleaseGoal::Present => self.present_message(),
            ReleaseGoal::Removing { why, .. } => {
                let trouble = self.stages.get(StageName::Pruned).state.trouble();
                trouble.map_or_else(|| why.clone(), told)
            }
            ReleaseGoal::Removed { .. } => "Nothing of it is left on the cluster.".to_owned(),
            ReleaseGoal::Orphaned { .. } => "Its objects were left on the cluster on purpose.".to_owned(),
            ReleaseGoal::Abandoned { .. } => {
                "Given up while the cluster could not be reached; its objects may still be there.".to_owned()
            }
        }
    }

    fn present_message(&self) -> String {
        match self.present_state() {
            State::Drifted => return "Somebody changed objects after they were applied.".to_owned(),
            State::Stale => return "The cluster runs an older bundle than the one it should run.".to_owned(),
            _ => {}
        }
        // While it waits for its turn, trouble with what runs there comes first.
        let untold =
            (self.turn().is_some() && self.present_state().is_failing()).then_some(StageName::Released);
        let mut stages = self.stages.iter().filter(|stage| !stage.state.is_over());
        match stages.find(|stage| Some(stage.name) != untold).map(|stage| (stage.name, &stage.state)) {
            Some((_, StageState::Waiting(trouble) | StageState::Failed(trouble))) => told(trouble),
            Some((_, StageState::Running { message })) if !message.is_empty() => message.clone(),
            Some((name, _)) if name > StageName::Applied && !self.health.message.is_empty() => {
                self.health.message.clone()
            }
            Some((name, _)) => format!("Next: {}", name.sentence()),
            None => self.health.message.clone(),
        }
    }
}

/// A trouble's sentence; whoever gave none at least gave a reason.
fn told(trouble: &Trouble) -> String {
    if trouble.message.is_empty() { trouble.reason.clone() } else { trouble.message.clone() }
}
