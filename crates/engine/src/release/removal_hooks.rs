//! The hooks of a chart that run when its release is removed: before its objects are deleted, and after.

use std::sync::Arc;

use domain::Digest;
use domain::bundle::Bundle;
use domain::chart_hook::HookEvent;

use super::hooks;
use super::reconciliation::{ReconcileFlow, Reconciliation};
use super::remove::{PruneResult, delete_by_rank};
use super::superseded_hooks;
use crate::applied_release::{AppliedRelease, HookPhase, HookProgress, InventoryEntry};
use crate::desired_object::PreparedBundle;

/// Deletes all objects of the release, with the hooks of its removal. The error is that a hook has not succeeded yet.
pub(super) async fn delete_with_hooks(
    pass: &mut Reconciliation<'_>,
    record: Option<&AppliedRelease>,
) -> Result<PruneResult, ReconcileFlow> {
    prepare_hooks(pass, record);
    match superseded_hooks::end(pass).await {
        ReconcileFlow::Continue => {}
        flow => return Err(flow),
    }
    run_hooks(pass, HookPhase::Before).await?;
    // The objects of hooks after the deletion may exist already, and are in use until these hooks have ended.
    let (later, entries): (Vec<InventoryEntry>, Vec<InventoryEntry>) =
        pass.inventory.clone().into_iter().partition(|entry| is_used_after(pass, entry));
    let deleted = delete_by_rank(pass, &entries).await;
    if !deleted.state.is_finished() || pass.prepared.hooks.is_empty() {
        return Ok(PruneResult { remaining: [deleted.remaining, later].concat(), ..deleted });
    }
    run_hooks(pass, HookPhase::After).await?;
    let used: Vec<InventoryEntry> =
        pass.inventory.iter().filter(|entry| !entries.contains(entry)).cloned().collect();
    let last = delete_by_rank(pass, &used).await;
    Ok(PruneResult { retained: [deleted.retained, last.retained].concat(), ..last })
}

/// Sets the hooks of the record as those of the pass.
fn prepare_hooks(pass: &mut Reconciliation<'_>, record: Option<&AppliedRelease>) {
    let Some(record) = record.filter(|record| !record.removal_hooks.is_empty()) else { return };
    let bundle = Bundle::default().with_hooks(record.removal_hooks.clone());
    let digest = Digest::compute(b"");
    let generation = pass.request.desired.generation;
    pass.hook_progress = Some(HookProgress::for_removal(record.hooks.as_ref(), &digest, generation));
    pass.prepared = Arc::new(PreparedBundle::new(&pass.request.desired, digest, &bundle));
}

async fn run_hooks(pass: &mut Reconciliation<'_>, phase: HookPhase) -> Result<(), ReconcileFlow> {
    if pass.prepared.hooks.is_empty() {
        return Ok(());
    }
    match hooks::run(pass, phase).await {
        ReconcileFlow::Continue => Ok(()),
        flow => Err(flow),
    }
}

fn is_used_after(pass: &Reconciliation<'_>, entry: &InventoryEntry) -> bool {
    let mut hooks = pass.prepared.hooks.iter();
    hooks.any(|hook| {
        hook.hook.events.contains(&HookEvent::PostDelete) && hook.desired.object.is_same_object(&entry.object)
    })
}
