//! Prunes recorded objects that the bundle no longer contains, after all desired objects were applied (S3-13).
//!
//! What pods of the former revision may need (a ConfigMap with a hash in its name, a Service, an account) is pruned only once
//! the new revision is operational: a rolling update keeps the old pods until the new ones are ready, and an old pod that is
//! started again in the meantime would not find it. What its own manifest suspends is never operational, so it only has to have no
//! pods of the former revision. The stage does not wait for these objects, because the stages that follow
//! decide when they go.

use domain::health::HealthStatus;
use domain::name_list::join_first;
use domain::object::ObjectRef;
use domain::release::{StageName, StageState};
use serde_json::Value;

use super::reconciliation::{ReconcileFlow, Reconciliation, TargetObject};
use super::remove::{PruneResult, delete_by_rank};
use super::suspended;
use crate::applied_release::InventoryEntry;

/// Number of objects that a message names.
const NAMES_MAX: usize = 3;

/// Prunes the obsolete objects that no pod needs.
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
    if pass.is_suspended() {
        let state = suspended::prune_stage(pass, obsolete.len());
        let is_finished = state.is_finished();
        pass.set_stage(StageName::Pruned, state);
        return if is_finished { ReconcileFlow::Continue } else { ReconcileFlow::Stop };
    }
    pass.state.pruned_generation = Some(pass.request.desired.generation);
    let (late, now) = split_late(pass, obsolete);
    let state = prune_entries(pass, &now).await;
    let state = match state {
        StageState::Done if !late.is_empty() => StageState::Skipped { message: describe_late(&late) },
        // What is left on the cluster for good is told beside what goes later.
        StageState::Skipped { message } if !late.is_empty() => {
            StageState::Skipped { message: format!("{} {message}", describe_late(&late)) }
        }
        state => state,
    };
    pass.set_stage(StageName::Pruned, state.clone());
    if pass.is_outdated() {
        return ReconcileFlow::Restart;
    }
    if state.is_finished() { ReconcileFlow::Continue } else { ReconcileFlow::Stop }
}

/// Prunes the obsolete objects that pods might have needed, if no pod of the former revision runs any more. The stage stays finished while an
/// object still exists, for example because of its finalizers; it fails if the cluster refuses a deletion.
pub(crate) async fn run_late(pass: &mut Reconciliation<'_>) -> ReconcileFlow {
    if !is_rolled_out(pass) || !pass.policies.prune {
        return ReconcileFlow::Continue;
    }
    let (late, _) = split_late(pass, obsolete_entries(pass));
    if late.is_empty() {
        return ReconcileFlow::Continue;
    }
    let state = match prune_entries(pass, &late).await {
        StageState::Waiting(reason) => {
            StageState::Skipped { message: format!("{} {}", describe_late(&late), reason.message) }
        }
        StageState::Running { message } => {
            StageState::Skipped { message: format!("{} {message}", describe_late(&late)) }
        }
        state => state,
    };
    pass.set_stage(StageName::Pruned, state);
    if pass.is_outdated() { ReconcileFlow::Restart } else { ReconcileFlow::Continue }
}

/// Whether the revision is operational, except for what its manifest suspends.
fn is_rolled_out(pass: &Reconciliation<'_>) -> bool {
    let operational = pass.stages.iter().find(|stage| stage.name == StageName::Operational);
    match operational.map(|stage| &stage.state) {
        Some(StageState::Done) => true,
        Some(StageState::Running { .. }) => {
            let mut counted = pass.targets.iter().filter(|target| target.counts_for_health);
            counted.all(|target| match target.health.status {
                HealthStatus::Healthy => true,
                HealthStatus::NotAssessed => pass.policies.accepts_not_assessed(),
                HealthStatus::Suspended => is_suspended_after_rollout(target),
                HealthStatus::Progressing
                | HealthStatus::Missing
                | HealthStatus::Degraded
                | HealthStatus::Unknown => false,
            })
        }
        _ => false,
    }
}

/// Whether an object is suspended by its manifest and has no pods of the former revision, as its controller has observed. Unknown
/// is no: nothing is known about the pods of a custom kind.
fn is_suspended_after_rollout(target: &TargetObject) -> bool {
    let Some(live) = target.live_object() else { return false };
    let (desired, live) = (target.desired.value(), live.value());
    let is_set = |pointer: &str| desired.pointer(pointer) == Some(&Value::Bool(true));
    // A number that is absent is zero, as Kubernetes writes it.
    let number = |pointer: &str| live.pointer(pointer).and_then(Value::as_i64).unwrap_or_default();
    let object = &target.desired.object;
    if object.is_kind("apps", "Deployment") {
        is_set("/spec/paused")
            && number("/status/observedGeneration") >= number("/metadata/generation")
            && number("/status/replicas") <= number("/status/updatedReplicas")
    } else if object.is_kind("batch", "CronJob") {
        let active = live.pointer("/status/active").and_then(Value::as_array);
        is_set("/spec/suspend") && active.is_none_or(Vec::is_empty)
    } else if object.is_kind("batch", "Job") {
        is_set("/spec/suspend") && number("/status/active") == 0
    } else {
        false
    }
}

/// Deletes these objects and removes those from the inventory that no longer exist.
async fn prune_entries(pass: &mut Reconciliation<'_>, entries: &[InventoryEntry]) -> StageState {
    let PruneResult { remaining, state, retained } = delete_by_rank(pass, entries).await;
    pass.state.retained.extend(retained);
    let is_deleted = |entry: &InventoryEntry| {
        entries.iter().any(|other| other.object == entry.object)
            && !remaining.iter().any(|other| other.object == entry.object)
    };
    pass.inventory.retain(|entry| !is_deleted(entry));
    pass.state.describe_retained(state)
}

/// The entries that are pruned once the revision is operational, and the others.
fn split_late(
    pass: &Reconciliation<'_>,
    obsolete: Vec<InventoryEntry>,
) -> (Vec<InventoryEntry>, Vec<InventoryEntry>) {
    let has_pods = pass.prepared.has_pods();
    obsolete.into_iter().partition(|entry| pass.policies.is_pruned_after_operational(&entry.object, has_pods))
}

fn describe_late(entries: &[InventoryEntry]) -> String {
    let names: Vec<String> = entries.iter().map(|entry| entry.object.to_string()).collect();
    format!(
        "Deleted once the revision is operational, because running pods may need it: {}.",
        join_first(&names, NAMES_MAX)
    )
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
