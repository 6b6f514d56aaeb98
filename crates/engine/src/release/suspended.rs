//! Suspended releases: their objects are compared and their health is assessed, and nothing is written or deleted (S2-11).

use domain::release::{Reason, StageState};

use super::reconciliation::{Reconciliation, waiting_stage};

impl Reconciliation<'_> {
    /// Whether nothing of the release may be written or deleted.
    pub(crate) fn is_suspended(&self) -> bool {
        self.request.suspended
    }
}

/// Marks an object as not applied, because that would be a write.
pub(super) fn block_target(pass: &mut Reconciliation<'_>, at: usize) {
    let object = &pass.targets[at].desired.object;
    let message = format!("{object} is not applied while the release is suspended.");
    pass.targets[at].blocked_by = Some(waiting_stage(Reason::Suspended, message));
}

/// The prune stage if so many objects of earlier revisions are left.
pub(super) fn prune_stage(pass: &Reconciliation<'_>, left: usize) -> StageState {
    let message = match left {
        1 => "1 object of an earlier revision stays while the release is suspended.".to_owned(),
        more => format!("{more} objects of earlier revisions stay while the release is suspended."),
    };
    if pass.state.applied.as_ref() == Some(&pass.prepared.digest) {
        // The bundle was applied completely before: what is left waited for its pods.
        StageState::Skipped { message }
    } else {
        waiting_stage(Reason::Suspended, message)
    }
}
