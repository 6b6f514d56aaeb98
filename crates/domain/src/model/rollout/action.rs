//! Actions of a person on a rollout.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::{Rollout, RolloutState};
use crate::kubernetes::time::Timestamp;
use crate::model::action_unavailable::ActionUnavailable;

/// An action of a person on a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum RolloutAction {
    /// Admit no more clusters.
    Pause,
    /// Continue; clusters that fail now no longer count as failures.
    Resume,
    /// Approve the wave that waits for approval, or its result.
    Approve,
    /// Skip the rest of the soak time, and continue without the deferred clusters.
    Promote,
    /// Request a sync of the clusters that fail: their agents try again now. The state stays.
    Retry,
    /// Abort it: gated clusters keep their released revision.
    Abort,
}

impl RolloutAction {
    /// All actions.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// The name in URLs, in JSON and on the command line.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The past participle, for events and errors.
    pub const fn past_participle(self) -> &'static str {
        match self {
            Self::Pause => "paused",
            Self::Resume => "resumed",
            Self::Approve => "approved",
            Self::Promote => "promoted",
            Self::Retry => "retried",
            Self::Abort => "aborted",
        }
    }
}

impl Rollout {
    /// Checks that the action is possible in the current state.
    ///
    /// # Errors
    /// Why it is not, as a sentence for people.
    pub fn check_action(&self, verb: RolloutAction) -> Result<(), ActionUnavailable> {
        let fits = match verb {
            RolloutAction::Pause => matches!(
                self.state,
                RolloutState::Running
                    | RolloutState::Soaking { .. }
                    | RolloutState::AwaitingApproval
                    | RolloutState::AwaitingResultApproval
                    | RolloutState::AwaitingClusters { .. }
            ),
            RolloutAction::Resume => {
                matches!(self.state, RolloutState::Paused { .. } | RolloutState::AutoPaused { .. })
            }
            RolloutAction::Approve => self.is_awaiting_approval(),
            RolloutAction::Promote => {
                matches!(self.state, RolloutState::Soaking { .. } | RolloutState::AwaitingClusters { .. })
            }
            RolloutAction::Retry => self.state.is_active() && self.count_failing() > self.count_silent(),
            RolloutAction::Abort => self.state.is_active(),
        };
        if fits {
            return Ok(());
        }
        let why = match (verb, self.state.is_active()) {
            (_, false) => {
                format!("the rollout of revision {} is {}", self.revision, lower(self.state.label()))
            }
            (RolloutAction::Resume, _) => "it is not paused".to_owned(),
            (RolloutAction::Approve, _) => "no wave of it waits for an approval".to_owned(),
            (RolloutAction::Promote, _) => "no wave of it is soaking or waits for clusters".to_owned(),
            (RolloutAction::Retry, _) => "none of its clusters that report is failing".to_owned(),
            _ => format!("it is {}", lower(self.state.label())),
        };
        Err(ActionUnavailable(format!("This rollout can't be {}: {why}.", verb.past_participle())))
    }

    /// Applies an action of a person.
    ///
    /// # Errors
    /// As [`Rollout::check_action`] and, to approve, [`Rollout::check_approver`].
    pub fn apply_action(
        &mut self,
        verb: RolloutAction,
        by: &str,
        now: Timestamp,
    ) -> Result<(), ActionUnavailable> {
        self.check_action(verb)?;
        if verb == RolloutAction::Approve {
            self.check_approver(by)?;
        }
        let at = self.wave as usize;
        match verb {
            RolloutAction::Pause => self.set_state(RolloutState::Paused { by: by.to_owned() }, now),
            RolloutAction::Abort => self.set_state(RolloutState::Aborted { by: by.to_owned() }, now),
            RolloutAction::Resume => {
                for progress in self.waves.iter_mut().take(at + 1) {
                    let failures = progress.failing.saturating_add(progress.rolled_back);
                    progress.accepted_failures = progress.accepted_failures.max(failures);
                }
                let needs_approval = self.strategy.waves.get(at).is_some_and(|wave| wave.approval);
                let approved = self.waves.get(at).is_some_and(|wave| wave.approved_by.is_some());
                let state = if needs_approval && !approved {
                    RolloutState::AwaitingApproval
                } else {
                    RolloutState::Running
                };
                self.set_state(state, now);
            }
            RolloutAction::Approve => self.record_approval(by, now),
            RolloutAction::Promote => {
                if let Some(progress) = self.waves.get_mut(at) {
                    progress.promoted_by = Some(by.to_owned());
                }
                self.set_state(RolloutState::Running, now);
            }
            // The caller requests the sync. A cluster that recovers counts as any other does.
            RolloutAction::Retry => {}
        }
        Ok(())
    }

    /// Ends it because of a newer publish or an unpublish.
    pub fn supersede(&mut self, now: Timestamp) {
        if self.state.is_active() || matches!(self.state, RolloutState::RolledBack { .. }) {
            self.set_state(RolloutState::Superseded, now);
        }
    }
}

fn lower(label: &str) -> String {
    label.to_lowercase()
}
