//! Stage Approved: who approved the delivery of a revision.

use crate::model::release::stage::StageApproval;
use crate::model::release::{Release, StageName, StageState};

impl Release {
    /// Records who approved the wave of the desired revision; `None` if nobody did. Stage Approved shows it once that
    /// revision is delivered, and as long as it is desired.
    pub fn record_approval(&mut self, approval: Option<StageApproval>) {
        self.stages.set_approval(approval);
    }

    /// How stage Approved ends while the hub's stages before `until` are finished.
    pub(super) fn end_approval(&mut self, until: StageName) -> StageState {
        let approval = self.stages.get(StageName::Approved).approval.as_ref();
        if approval.is_some_and(|approval| Some(approval.revision) == self.revision) {
            return StageState::Done;
        }
        self.stages.set_approval(None);
        let message = match until {
            StageName::Notified => "No approval is required.",
            // Nothing is delivered yet.
            _ => "Stage Released waits for an approval, if one is required.",
        };
        StageState::Skipped { message: message.to_owned() }
    }
}
