//! A hub that was restored from an older backup wants what was wanted long ago. A cluster that is further than that stays
//! as it is until a person says so by publishing or comparing anew (P24).

use domain::release::stage::Trouble;
use domain::release::{StageName, StageState};

use super::pass::Pass;
use crate::record::Record;

/// Whether the hub is behind what was applied here, and nobody has spoken since that was seen; then `stage` says so.
pub(crate) fn holds(pass: &mut Pass<'_>, record: Option<&Record>, stage: StageName) -> bool {
    let want = &pass.order.want;
    let Some(record) = record.filter(|record| record.generation > want.generation && !record.deleting) else {
        pass.memory.behind = None;
        return false;
    };
    let is_same =
        pass.order.prepared.as_ref().is_some_and(|prepared| record.bundle.as_ref() == Some(&prepared.digest));
    let said = (want.generation, want.sync_nonce);
    if is_same || *pass.memory.behind.get_or_insert(said) != said {
        return false;
    }
    let message = format!(
        "The hub wants generation {}, and generation {} (revision {}) was applied here already: it may have been restored \
         from an older backup. Nothing is changed until somebody publishes or syncs the workload.",
        want.generation, record.generation, record.revision
    );
    let trouble = Trouble { reason: "HubBehind".to_owned(), message, ..Trouble::default() };
    pass.stage(stage, StageState::Waiting(trouble));
    true
}
