//! Protection against a hub restored from an older backup (P24): a cluster whose applied generation is newer than the
//! hub's is not changed until a user publishes or syncs the workload.

use domain::release::stage::StageReason;
use domain::release::{Reason, StageName, StageState};

use super::reconciliation::Reconciliation;
use crate::applied_release::AppliedRelease;

/// Whether the hub's generation is older than the applied one and has not changed since that was detected. If so, sets
/// `stage` to waiting.
pub(crate) fn block_if_hub_behind(
    pass: &mut Reconciliation<'_>,
    record: Option<&AppliedRelease>,
    stage: StageName,
) -> bool {
    let desired_release = &pass.request.desired;
    let Some(record) =
        record.filter(|record| record.generation > desired_release.generation && !record.deleting)
    else {
        pass.state.hub_behind_request = None;
        return false;
    };
    let is_same = pass
        .request
        .prepared
        .as_ref()
        .is_some_and(|prepared| record.bundle.as_ref() == Some(&prepared.digest));
    let requested = (desired_release.generation, desired_release.sync_nonce);
    if is_same || *pass.state.hub_behind_request.get_or_insert(requested) != requested {
        return false;
    }
    let message = format!(
        "The hub's generation is {}, but generation {} (revision {}) was already applied: the hub may have been restored \
         from an older backup. Nothing is changed until the workload is published or synced.",
        desired_release.generation, record.generation, record.revision
    );
    let reason = StageReason::new(Reason::HubBehind, message);
    pass.set_stage(stage, StageState::Waiting(reason));
    true
}
