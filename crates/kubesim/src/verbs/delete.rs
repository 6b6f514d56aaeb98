//! DELETE of one object or of a collection.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{MAX_TRIES, ResourcePath, WriteOptions};
use crate::cluster::SimState;
use crate::kinds::ResourceKind;
use crate::object::{self, i64_at, str_at, value_at};
use crate::stats::increment;
use crate::status::{ApiResult, StatusError};
use crate::store::StoredObject;

/// The result of a deletion.
#[derive(Debug)]
pub(crate) enum DeleteResult {
    /// Waits for finalizers or for its grace period.
    Terminating(Arc<StoredObject>),
    Removed(Arc<StoredObject>),
}

impl DeleteResult {
    /// The response body: the object, or a `Status` once it is removed.
    pub(crate) fn body(&self, kind: &ResourceKind) -> Value {
        match self {
            DeleteResult::Terminating(object) => object.value.clone(),
            DeleteResult::Removed(object) => {
                let mut details = json!({"name": object::name(&object.value)});
                if !kind.group.is_empty() {
                    details["group"] = kind.group.clone().into();
                }
                details["kind"] = kind.plural.clone().into();
                details["uid"] = object::uid(&object.value).into();
                json!({
                    "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details,
                })
            }
        }
    }
}

/// Whether an object that is being deleted has no finalizer and no grace period left.
pub(crate) fn is_removable(kind: &ResourceKind, object: &Value) -> bool {
    let has_finalizers = object::finalizers(object).next().is_some();
    let grace = i64_at(object, "metadata.deletionGracePeriodSeconds").unwrap_or(0) > 0;
    let namespace = kind.is_kind("", "Namespace") && !object::array_at(object, "spec.finalizers").is_empty();
    !has_finalizers && !grace && !namespace
}

/// Deletes an object, or marks it as terminating while finalizers or a grace period remain.
///
/// # Errors
/// Not found, a failed precondition, a protected namespace.
pub(crate) fn delete_object(
    sim: &SimState,
    target: &ResourcePath,
    options: &Value,
    dry_run: bool,
) -> ApiResult<DeleteResult> {
    let kind = &target.kind;
    const PROTECTED: [&str; 3] = ["default", "kube-system", "kube-public"];
    if kind.is_kind("", "Namespace") && PROTECTED.contains(&&*target.name) {
        return Err(StatusError::forbidden(kind, &target.name, "this namespace may not be deleted"));
    }
    for _ in 0..MAX_TRIES {
        let old = target.get(sim)?;
        check_preconditions(target, &old.value, options)?;
        let marked = mark_for_deletion(sim, kind, &old.value, options);
        if dry_run {
            return Ok(DeleteResult::Removed(old));
        }
        let (id, key) = (kind.id, target.key());
        let done = if is_removable(kind, &marked) {
            sim.store.commit(id, &key, Some(old.rv), None).map(DeleteResult::Removed)
        } else if marked == old.value {
            return Ok(DeleteResult::Terminating(old));
        } else {
            sim.store.commit(id, &key, Some(old.rv), Some(marked)).map(DeleteResult::Terminating)
        };
        if let Ok(done) = done {
            increment(&sim.counters.client_writes, 1);
            return Ok(done);
        }
    }
    Err(StatusError::modified(kind, &target.name))
}

/// Deletes on behalf of the cluster's own controllers; counted as a system write.
pub(crate) fn delete_as_system(sim: &SimState, target: &ResourcePath, options: &Value) {
    if delete_object(sim, target, options, false).is_ok() {
        sim.counters.client_writes.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        increment(&sim.counters.system_writes, 1);
    }
}

fn check_preconditions(target: &ResourcePath, live: &Value, options: &Value) -> ApiResult<()> {
    let check = |path: &str, found: &str, what: &str| {
        let expected = str_at(options, path);
        if expected.is_empty() || expected == found {
            return Ok(());
        }
        let why = format!(
            "Precondition failed: {what} in precondition: {expected}, {what} in object meta: {found}"
        );
        Err(StatusError::conflict(&target.kind, &target.name, &why))
    };
    check("preconditions.uid", object::uid(live), "UID")?;
    let version = str_at(live, "metadata.resourceVersion");
    check("preconditions.resourceVersion", version, "ResourceVersion")
}

fn mark_for_deletion(sim: &SimState, kind: &ResourceKind, live: &Value, options: &Value) -> Value {
    let mut object = live.clone();
    let sent = i64_at(options, "gracePeriodSeconds");
    let grace = if kind.is_kind("", "Pod") && !str_at(live, "spec.nodeName").is_empty() {
        let own = i64_at(live, "spec.terminationGracePeriodSeconds").unwrap_or(30);
        let finished = matches!(str_at(live, "status.phase"), "Succeeded" | "Failed");
        if finished { 0 } else { sent.unwrap_or(own) }
    } else {
        0
    };
    let before = i64_at(live, "metadata.deletionGracePeriodSeconds");
    if !object::is_deleting(live) || before.is_some_and(|b| grace < b) {
        let when =
            sim.clock.now().checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(sim.clock.now());
        object::set_default(&mut object, "metadata.deletionTimestamp", crate::clock::format_timestamp(when));
        object::set_value(&mut object, "metadata.deletionGracePeriodSeconds", grace);
        if !object::is_deleting(live)
            && let Some(generation) = i64_at(live, "metadata.generation")
        {
            object::set_value(&mut object, "metadata.generation", generation + 1);
        }
    }
    if kind.is_kind("", "Namespace") {
        object::set_value(&mut object, "status.phase", "Terminating");
    }
    set_propagation_finalizer(kind, &mut object, options);
    object
}

/// Sets the finalizer that represents the propagation policy.
fn set_propagation_finalizer(kind: &ResourceKind, object: &mut Value, options: &Value) {
    let orphan = value_at(options, "orphanDependents").and_then(Value::as_bool);
    let policy = match str_at(options, "propagationPolicy") {
        // The real server's legacy default for these two kinds.
        "" if kind.is_kind("batch", "Job") || kind.is_kind("", "ReplicationController") => "Orphan",
        "" if orphan == Some(true) => "Orphan",
        "" => "Background",
        policy => policy,
    };
    let (finalizer, other) = match policy {
        "Orphan" => (Some("orphan"), "foregroundDeletion"),
        "Foreground" => (Some("foregroundDeletion"), "orphan"),
        _ => (None, "orphan"),
    };
    let mut finalizers: Vec<String> = object::finalizers(object).map(str::to_owned).collect();
    if !str_at(options, "propagationPolicy").is_empty() {
        finalizers.retain(|f| f != other && (finalizer.is_some() || f != "foregroundDeletion"));
    }
    if let Some(finalizer) = finalizer
        && !finalizers.iter().any(|f| f == finalizer)
    {
        finalizers.push(finalizer.to_owned());
    }
    if finalizers.is_empty() {
        object::remove_value(object, "metadata.finalizers");
    } else {
        object::set_value(object, "metadata.finalizers", finalizers);
    }
}

/// Removes one finalizer on behalf of its controller.
pub(crate) fn remove_finalizer(sim: &SimState, target: &ResourcePath, finalizer: &str) {
    let write =
        WriteOptions { manager: "kube-controller-manager", by_system: true, ..WriteOptions::default() };
    let done = super::update::edit_object(sim, target, &write, |object| {
        let rest: Vec<Value> = object::array_at(object, "metadata.finalizers")
            .iter()
            .filter(|f| **f != finalizer)
            .cloned()
            .collect();
        if rest.is_empty() {
            object::remove_value(object, "metadata.finalizers");
        } else {
            object::set_value(object, "metadata.finalizers", rest);
        }
        Ok(())
    });
    if let Err(refusal) = done {
        tracing::debug!(message = refusal.message, finalizer, "the finalizer was not removed");
    }
}
