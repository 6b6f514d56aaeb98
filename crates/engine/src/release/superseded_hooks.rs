//! Hooks that still run for a revision that was superseded, or for a release that is being removed.
//!
//! A run is not awaited: one that never ends would block the revision that fixes it. It is deleted, and its pods with it, before any
//! hook of what superseded it and any object but the definitions of a chart, so that two migrations never run at the same time. A
//! run that has ended is not touched here: what becomes of its object is decided by the policy of the hook, by the run that
//! replaces it, and by the prune.

use domain::chart_object::{annotation, retention_reason};
use domain::object::ObjectRef;
use domain::release::StageState;
use domain::report::DesiredPhase;
use serde_json::Value;

use super::hooks::{
    current_runs, delete_object, describe_deletion, has_ended, record_failure, runs_to_completion, stop,
    watch_object,
};
use super::reconciliation::{ReconcileFlow, Reconciliation};
use crate::api::ServedKind;
use crate::applied_release::InventoryEntry;
use crate::desired_object::HOOK_RUN_ANNOTATION;
use crate::error::Error;
use crate::observe::LiveObject;

/// Ends the superseded runs; continues once they and their pods are gone.
pub(super) async fn end(pass: &mut Reconciliation<'_>) -> ReconcileFlow {
    let Some(current) = current_runs(pass).filter(|_| !pass.is_suspended()) else {
        return ReconcileFlow::Continue;
    };
    let is_candidate = |entry: &&InventoryEntry| runs_to_completion(&entry.object);
    let entries: Vec<InventoryEntry> = pass.inventory.iter().filter(is_candidate).cloned().collect();
    let mut waiting = None;
    for entry in entries {
        match try_end(pass, &entry, &current).await {
            Ok(None) => {}
            Ok(Some(message)) => {
                pass.state.object_mut(&entry.object).failure = None;
                waiting.get_or_insert(StageState::Running { message });
            }
            Err(error) => {
                let subject = entry.object.to_string();
                waiting.get_or_insert(record_failure(pass, &entry.object, &subject, error));
            }
        }
    }
    match waiting {
        Some(state) => stop(pass, state),
        None => ReconcileFlow::Continue,
    }
}

/// Deletes the object of an entry if it is a superseded run; returns what is still to be waited for.
async fn try_end(
    pass: &Reconciliation<'_>,
    entry: &InventoryEntry,
    current: &[String],
) -> Result<Option<String>, Error> {
    let object = &entry.object;
    let Some((resource, objects)) = watch_object(pass, object).await? else { return Ok(None) };
    let Some(live) = objects.get(&object.namespace, &object.name) else { return Ok(None) };
    let value = live.value();
    if !is_superseded(pass, entry, &live, current) || is_left(pass, object, &value) {
        return Ok(None);
    }
    let describe = |left: &Value| {
        format!("{object}, a hook that was superseded while it ran: {}.", describe_deletion(left))
    };
    if live.deleting {
        return Ok(Some(describe(&value)));
    }
    let failure = pass.state.objects.get(object).and_then(|known| known.failure.as_ref());
    if let Some(failure) = failure.filter(|failure| !failure.is_due()) {
        return Err(failure.error.clone());
    }
    let left = request_deletion(pass, &resource, &live).await?;
    if left.is_none() {
        objects.remove(&live);
    }
    Ok(left.as_ref().map(describe))
}

async fn request_deletion(
    pass: &Reconciliation<'_>,
    resource: &ServedKind,
    live: &LiveObject,
) -> Result<Option<Value>, Error> {
    tracing::info!(hook = %live.name, release = %pass.release(), "a hook that was superseded while it ran is deleted");
    delete_object(&pass.api(), resource, live).await
}

/// Whether the object is of a run of this release that still runs and is none of the current ones. Its annotation may be copied, so
/// it must be the object that the release applied.
fn is_superseded(
    pass: &Reconciliation<'_>,
    entry: &InventoryEntry,
    live: &LiveObject,
    current: &[String],
) -> bool {
    let value = live.value();
    let run = annotation(&value, HOOK_RUN_ANNOTATION);
    !run.is_empty()
        && !current.iter().any(|id| id == run)
        && !has_ended(&value)
        && live.is_applied_by(pass.release(), &entry.uid)
}

/// Whether a superseded run goes on, because its object stays on the cluster by policy or annotation.
fn is_left(pass: &Reconciliation<'_>, object: &ObjectRef, live: &Value) -> bool {
    let is_present = matches!(pass.request.desired.phase, DesiredPhase::Present { .. });
    let is_hook = pass.prepared.hooks.iter().any(|hook| hook.desired.object.is_same_object(object));
    let stays = retention_reason(live).is_some() || pass.is_orphaned(object);
    !is_hook && (stays || is_present && !pass.policies.prune)
}
