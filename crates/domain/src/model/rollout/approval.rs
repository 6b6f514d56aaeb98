//! Approvals: of a wave before it starts, and of its result before the next one starts (S2-5).

use super::{Approver, Rollout, RolloutState};
use crate::kubernetes::time::Timestamp;
use crate::model::action_unavailable::ActionUnavailable;
use crate::model::release::stage::StageApproval;

impl Rollout {
    /// Whether a wave of it, or the result of one, waits for an approval.
    pub fn is_awaiting_approval(&self) -> bool {
        matches!(self.state, RolloutState::AwaitingApproval | RolloutState::AwaitingResultApproval)
    }

    /// Whether its first wave waits for an approval, or has got one.
    pub fn is_approved(&self) -> bool {
        self.waves.first().is_some_and(|wave| wave.approved_by.is_some())
    }

    /// Whose approval is required: `approval`, or `the approval of a user other than ann`.
    pub(super) fn describe_required_approval(&self) -> String {
        match (self.strategy.approver, self.published_by.as_str()) {
            (Approver::Anyone, _) => "approval".to_owned(),
            (Approver::AnotherUser, "") => "the approval of another user".to_owned(),
            (Approver::AnotherUser, by) => format!("the approval of a user other than {by}"),
        }
    }

    /// Checks that this user may approve a wave, as far as the strategy decides it.
    ///
    /// # Errors
    /// The strategy requires another user, and this one published the revision, or it is not known who did.
    pub fn check_approver(&self, name: &str) -> Result<(), ActionUnavailable> {
        if self.strategy.approver == Approver::Anyone {
            return Ok(());
        }
        let number = self.revision;
        if self.published_by.is_empty() {
            let why = format!(
                "It is not known who published revision {number}, so nobody can approve it. Publish it again."
            );
            return Err(ActionUnavailable(why));
        }
        if self.published_by == name {
            let why = format!(
                "You published revision {number}, and its rollout requires the approval of another user."
            );
            return Err(ActionUnavailable(why));
        }
        Ok(())
    }

    /// Records the approval that it waits for: of the result of the current wave, or of the wave.
    pub(super) fn record_approval(&mut self, by: &str, now: Timestamp) {
        let of_result = self.state == RolloutState::AwaitingResultApproval;
        if let Some(progress) = self.waves.get_mut(self.wave as usize) {
            let (approver, at) = if of_result {
                (&mut progress.result_approved_by, &mut progress.result_approved_at)
            } else {
                (&mut progress.approved_by, &mut progress.approved_at)
            };
            (*approver, *at) = (Some(by.to_owned()), Some(now));
        }
        self.set_state(RolloutState::Running, now);
    }

    /// Who approved what one of its waves waited for: the wave itself, or else the result of the wave before. `None` if nobody did.
    pub fn wave_approval(&self, index: u32) -> Option<StageApproval> {
        let revision = self.revision;
        let of_wave = self.waves.get(index as usize).and_then(|progress| {
            let by = progress.approved_by.clone()?;
            let wave = self.wave_position(index).to_string();
            Some(StageApproval { by, revision, wave, at: progress.approved_at })
        });
        of_wave.or_else(|| {
            let before = index.checked_sub(1)?;
            let progress = self.waves.get(before as usize)?;
            let by = progress.result_approved_by.clone()?;
            let wave = format!("the result of {}", self.wave_position(before));
            Some(StageApproval { by, revision, wave, at: progress.result_approved_at })
        })
    }
}
