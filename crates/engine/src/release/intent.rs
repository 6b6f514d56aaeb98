//! What a pass is about to write, recorded before the first write: the names of objects that may be created (P15), and the
//! installation or upgrade that the hooks of a chart run for.

use std::sync::Arc;

use domain::release::StageState;

use super::reconciliation::Reconciliation;
use super::retry::RetryState;
use crate::applied_release::{AppliedRelease, HookBundle, HookPhase, HookProgress, InventoryEntry};
use crate::observe::LiveObject;

/// Records the names of all objects that may be created, unless already recorded, and which recorded ones are missing: if these
/// are created again, the recorded uid is no longer theirs.
pub(super) async fn record_intent(pass: &mut Reconciliation<'_>) -> Result<(), StageState> {
    if pass.is_suspended() {
        return Ok(());
    }
    let mut has_new = false;
    for target in &pass.targets {
        let desired = &target.desired;
        let is_read_only = pass.is_read_only(&desired.object);
        let recorded = pass.inventory.iter_mut().find(|entry| entry.object.is_same_object(&desired.object));
        if let Some(entry) = recorded {
            let is_own = |live: &LiveObject| live.is_applied_by(pass.worker.id, &entry.uid);
            let is_there = target.live_object().is_some_and(|live| is_own(&live));
            let is_missing = !entry.uid.is_empty() && !entry.completed && !is_there;
            has_new |= is_missing && !entry.missing;
            entry.missing |= is_missing;
            continue;
        }
        if is_read_only {
            continue;
        }
        has_new = true;
        let plural = target.kind.as_ref().map(|resource| resource.plural.clone());
        let live = target.live_object().filter(|live| live.applied_release() == Some(pass.worker.id));
        pass.inventory.push(InventoryEntry {
            object: desired.object.clone(),
            resource: plural.unwrap_or_default(),
            uid: live.as_ref().map(|live| live.uid.clone()).unwrap_or_default(),
            hash: live.map(|live| live.hash.clone()).unwrap_or_default(),
            ..InventoryEntry::default()
        });
    }
    let known = pass.cx.applied_releases.get(pass.worker.id);
    let generation = pass.request.desired.generation;
    start_hooks(pass, known.as_deref());
    // Lower the recorded generation before any write, so that a restart in between does not detect the hub as behind
    // again.
    let is_recorded =
        |known: &Arc<AppliedRelease>| known.generation <= generation && known.hooks == pass.hook_progress;
    if !has_new && known.as_ref().is_some_and(is_recorded) {
        return Ok(());
    }
    let record = AppliedRelease {
        revision: pass.revision,
        generation,
        bundle: Some(pass.prepared.digest.clone()),
        applied: pass.state.applied.clone(),
        resources: pass.inventory.clone(),
        left_fields_recorded: true,
        hooks: pass.hook_progress.clone(),
        removal_hooks: pass.prepared.removal_hooks(),
        eviction_start: None,
        ..known.map_or_else(
            || pass.cx.applied_releases.new_record(pass.worker.id, &pass.request.desired.workload),
            |known| (*known).clone(),
        )
    };
    let name = record.name.clone();
    let pending = pass.state.record_failure.clone().filter(|failure| !failure.is_due());
    let failure = match pending {
        Some(failure) => failure,
        None => match pass.cx.applied_releases.write(record).await {
            Ok(_) => {
                pass.state.record_failure = None;
                return Ok(());
            }
            Err(error) => RetryState::after(pass.state.record_failure.as_ref(), error, &pass.cx.options),
        },
    };
    pass.wake_at(failure.due);
    let state = failure.stage_state(&format!("Record {name}"));
    pass.state.record_failure = Some(failure);
    Err(state)
}

/// Starts the hooks of a new bundle, and adds those of the installation or upgrade to the record.
fn start_hooks(pass: &mut Reconciliation<'_>, known: Option<&AppliedRelease>) {
    let bundle = HookBundle {
        digest: &pass.prepared.digest,
        has_hooks: !pass.prepared.hooks.is_empty(),
        generation: pass.request.desired.generation,
        // Also those of a release whose record is lost.
        has_objects: known.is_some_and(AppliedRelease::has_objects)
            || pass.inventory.iter().any(|entry| !entry.uid.is_empty()),
    };
    pass.hook_progress = HookProgress::for_bundle(pass.hook_progress.as_ref(), bundle);
    let Some(progress) = pass.hook_progress.as_ref().filter(|progress| !progress.finished) else { return };
    let events = [HookPhase::Before, HookPhase::After].map(|phase| progress.operation.event(phase));
    let prepared = Arc::clone(&pass.prepared);
    for hook in
        prepared.hooks.iter().filter(|hook| events.iter().any(|event| hook.hook.events.contains(event)))
    {
        let object = hook.desired.object.clone();
        if pass.inventory_entry(&object).is_none() {
            pass.inventory.push(InventoryEntry { object, ..InventoryEntry::default() });
        }
    }
}
