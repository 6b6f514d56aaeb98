//! What a person may say to a rollout.

use serde::{Deserialize, Serialize};

use super::{Rollout, RolloutState};
use crate::can::WhyNot;
use crate::time::Timestamp;

/// What a person says to a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum RolloutVerb {
    /// Let no more clusters through.
    Pause,
    /// Go on; clusters that fail now are let pass.
    Resume,
    /// Yes to the wave that waits for it.
    Approve,
    /// Go on to the next wave without waiting for the end of the soak time.
    Promote,
    /// End it: clusters that it has not reached keep what they have.
    Abort,
}

impl RolloutVerb {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Pause, Self::Resume, Self::Approve, Self::Promote, Self::Abort];

    /// The word in addresses and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Approve => "approve",
            Self::Promote => "promote",
            Self::Abort => "abort",
        }
    }

    /// What was done, for the log.
    pub const fn done(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Approve => "approved",
            Self::Promote => "promoted",
            Self::Abort => "ended",
        }
    }
}

impl Rollout {
    /// Whether a person may say this now, and if not, why.
    ///
    /// # Errors
    /// The sentence that stands beside the disabled button.
    pub fn can(&self, verb: RolloutVerb) -> Result<(), WhyNot> {
        let fits = match verb {
            RolloutVerb::Pause => matches!(
                self.state,
                RolloutState::Running | RolloutState::Soaking { .. } | RolloutState::AwaitingApproval
            ),
            RolloutVerb::Resume => {
                matches!(self.state, RolloutState::Paused { .. } | RolloutState::AutoPaused { .. })
            }
            RolloutVerb::Approve => self.state == RolloutState::AwaitingApproval,
            RolloutVerb::Promote => matches!(self.state, RolloutState::Soaking { .. }),
            RolloutVerb::Abort => self.state.is_active(),
        };
        if fits {
            return Ok(());
        }
        let why = match (verb, self.state.is_active()) {
            (_, false) => {
                format!("the rollout of revision {} is {}", self.revision, lower(self.state.word()))
            }
            (RolloutVerb::Resume, _) => "it is not paused".to_owned(),
            (RolloutVerb::Approve, _) => "no wave of it waits for an approval".to_owned(),
            (RolloutVerb::Promote, _) => "no wave of it is soaking".to_owned(),
            _ => format!("it is {}", lower(self.state.word())),
        };
        Err(WhyNot(format!("This rollout can't be {}: {why}.", verb.done())))
    }

    /// Takes a person's word.
    ///
    /// # Errors
    /// As [`Rollout::can`].
    pub fn steer(&mut self, verb: RolloutVerb, by: &str, now: Timestamp) -> Result<(), WhyNot> {
        self.can(verb)?;
        let at = self.wave as usize;
        match verb {
            RolloutVerb::Pause => self.enter(RolloutState::Paused { by: by.to_owned() }, now),
            RolloutVerb::Abort => self.enter(RolloutState::Aborted { by: by.to_owned() }, now),
            RolloutVerb::Resume => {
                for progress in self.waves.iter_mut().take(at + 1) {
                    progress.forgiven = progress.forgiven.max(progress.failing);
                }
                let asks = self.strategy.waves.get(at).is_some_and(|wave| wave.approval);
                let approved = self.waves.get(at).is_some_and(|wave| wave.approved_by.is_some());
                let state =
                    if asks && !approved { RolloutState::AwaitingApproval } else { RolloutState::Running };
                self.enter(state, now);
            }
            RolloutVerb::Approve => {
                if let Some(progress) = self.waves.get_mut(at) {
                    progress.approved_by = Some(by.to_owned());
                }
                self.enter(RolloutState::Running, now);
            }
            RolloutVerb::Promote => {
                if let Some(progress) = self.waves.get_mut(at) {
                    progress.promoted_by = Some(by.to_owned());
                }
                self.enter(RolloutState::Running, now);
            }
        }
        Ok(())
    }

    /// Something newer was published, or the workload was taken back.
    pub fn supersede(&mut self, now: Timestamp) {
        if self.state.is_active() {
            self.enter(RolloutState::Superseded, now);
        }
    }
}

fn lower(word: &str) -> String {
    word.to_lowercase()
}
