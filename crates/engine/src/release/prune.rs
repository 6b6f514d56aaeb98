//! Prunes recorded objects that the bundle no longer contains, after all desired objects were applied (S3-13).

use domain::object::ObjectRef;
use domain::release::{StageName, StageState};

use super::reconciliation::{ReconcileFlow, Reconciliation};
use super::remove::{PruneResult, delete_by_rank};
use crate::applied_release::InventoryEntry;

/// Prunes obsolete objects.
pub(crate) async fn run(pass: &mut Reconciliation<'_>) -> ReconcileFlow {
    let obsolete = obsolete_entries(pass);
    if obsolete.is_empty() {
        let generation = pass.request.desired.generation;
        let state = if pass.state.pruned_generation == Some(generation) {
            pass.state.describe_retained(StageState::Done)
        } else {
            StageState::Skipped { message: "There was nothing to prune.".to_owned() }
        };
        pass.set_stage(StageName::Pruned, state);
        return ReconcileFlow::Continue;
    }
    if !pass.policies.prune {
        let message = format!("Pruning is disabled; {} objects of earlier revisions stay.", obsolete.len());
        pass.set_stage(StageName::Pruned, StageState::Skipped { message });
        return ReconcileFlow::Continue;
    }
    pass.state.pruned_generation = Some(pass.request.desired.generation);
    let PruneResult { remaining, state, retained } = delete_by_rank(pass, &obsolete).await;
    pass.state.retained.extend(retained);
    let is_deleted = |entry: &InventoryEntry| {
        obsolete.iter().any(|other| other.object == entry.object)
            && !remaining.iter().any(|other| other.object == entry.object)
    };
    pass.inventory.retain(|entry| !is_deleted(entry));
    let state = pass.state.describe_retained(state);
    pass.set_stage(StageName::Pruned, state.clone());
    if pass.is_outdated() {
        return ReconcileFlow::Restart;
    }
    if state.is_finished() { ReconcileFlow::Continue } else { ReconcileFlow::Stop }
}

fn obsolete_entries(pass: &Reconciliation<'_>) -> Vec<InventoryEntry> {
    let is_desired = |entry: &&InventoryEntry| {
        let is_it = |object: &ObjectRef| object.is_same_object(&entry.object) && !pass.is_read_only(object);
        let is_hook =
            pass.prepared.hooks.iter().any(|hook| hook.desired.object.is_same_object(&entry.object));
        let is_revision =
            pass.prepared.helm_release.as_ref().is_some_and(|release| release.is_revision(&entry.object));
        is_hook || is_revision || pass.prepared.objects.iter().any(|desired| is_it(&desired.object))
    };
    pass.inventory.iter().filter(|entry| !is_desired(entry)).cloned().collect()
}
