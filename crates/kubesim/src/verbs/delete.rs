//! DELETE of one object or of a collection.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{TRIES, Target, Write};
use crate::cluster::Sim;
use crate::kinds::Kind;
use crate::object::{self, at, int, text};
use crate::stats::add;
use crate::status::{Answer, Refusal};
use crate::store::Stored;

/// What became of the object.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// It waits for finalizers or for its grace period.
    Waiting(Arc<Stored>),
    Gone(Arc<Stored>),
}

impl Deleted {
    /// The object, or the `Status` the server answers with.
    pub(crate) fn body(&self, kind: &Kind) -> Value {
        match self {
            Deleted::Waiting(object) => object.value.clone(),
            Deleted::Gone(object) => {
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

/// Whether nothing holds an object that is being deleted.
pub(crate) fn complete(kind: &Kind, object: &Value) -> bool {
    let held = object::finalizers(object).next().is_some();
    let grace = int(object, "metadata.deletionGracePeriodSeconds").unwrap_or(0) > 0;
    let namespace = kind.is("", "Namespace") && !object::list(object, "spec.finalizers").is_empty();
    !held && !grace && !namespace
}

/// Deletes an object, or marks it where finalizers or a grace period hold it.
///
/// # Errors
/// Missing, a failed precondition, a namespace that may not go.
pub(crate) fn delete(sim: &Sim, target: &Target, options: &Value, dry_run: bool) -> Answer<Deleted> {
    let kind = &target.kind;
    const KEPT: [&str; 3] = ["default", "kube-system", "kube-public"];
    if kind.is("", "Namespace") && KEPT.contains(&&*target.name) {
        return Err(Refusal::forbidden(kind, &target.name, "this namespace may not be deleted"));
    }
    for _ in 0..TRIES {
        let old = target.get(sim)?;
        preconditions(target, &old.value, options)?;
        let marked = mark(sim, kind, &old.value, options);
        if dry_run {
            return Ok(Deleted::Gone(old));
        }
        let (id, key) = (kind.id, target.key());
        let done = if complete(kind, &marked) {
            sim.store.commit(id, &key, Some(old.rv), None).map(Deleted::Gone)
        } else if marked == old.value {
            return Ok(Deleted::Waiting(old));
        } else {
            sim.store.commit(id, &key, Some(old.rv), Some(marked)).map(Deleted::Waiting)
        };
        if let Ok(done) = done {
            add(&sim.counters.client_writes, 1);
            return Ok(done);
        }
    }
    Err(Refusal::modified(kind, &target.name))
}

/// Deletes at once, as the cluster's own controllers do when nothing holds the object any more.
pub(crate) fn by_system(sim: &Sim, target: &Target, options: &Value) {
    if delete(sim, target, options, false).is_ok() {
        sim.counters.client_writes.fetch_sub(1, std::sync::atomic::Ordering::Relaxed);
        add(&sim.counters.system_writes, 1);
    }
}

fn preconditions(target: &Target, live: &Value, options: &Value) -> Answer<()> {
    let check = |path: &str, found: &str, what: &str, where_: &str| {
        let wanted = text(options, path);
        if wanted.is_empty() || wanted == found {
            return Ok(());
        }
        let why =
            format!("Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {found}");
        let _ = where_;
        Err(Refusal::conflict(&target.kind, &target.name, &why))
    };
    check("preconditions.uid", object::uid(live), "UID", "uid")?;
    let version = text(live, "metadata.resourceVersion");
    check("preconditions.resourceVersion", version, "ResourceVersion", "resourceVersion")
}

fn mark(sim: &Sim, kind: &Kind, live: &Value, options: &Value) -> Value {
    let mut object = live.clone();
    let sent = int(options, "gracePeriodSeconds");
    let grace = if kind.is("", "Pod") && !text(live, "spec.nodeName").is_empty() {
        let own = int(live, "spec.terminationGracePeriodSeconds").unwrap_or(30);
        let finished = matches!(text(live, "status.phase"), "Succeeded" | "Failed");
        if finished { 0 } else { sent.unwrap_or(own) }
    } else {
        0
    };
    let before = int(live, "metadata.deletionGracePeriodSeconds");
    if !object::deleting(live) || before.is_some_and(|b| grace < b) {
        let when =
            sim.clock.now().checked_add(jiff::SignedDuration::from_secs(grace)).unwrap_or(sim.clock.now());
        object::put_default(&mut object, "metadata.deletionTimestamp", crate::clock::stamp(when));
        object::put(&mut object, "metadata.deletionGracePeriodSeconds", grace);
        if !object::deleting(live)
            && let Some(generation) = int(live, "metadata.generation")
        {
            object::put(&mut object, "metadata.generation", generation + 1);
        }
    }
    if kind.is("", "Namespace") {
        object::put(&mut object, "status.phase", "Terminating");
    }
    propagate(kind, &mut object, options);
    object
}

/// The finalizer that stands for the way dependents are treated.
fn propagate(kind: &Kind, object: &mut Value, options: &Value) {
    let orphan = at(options, "orphanDependents").and_then(Value::as_bool);
    let policy = match text(options, "propagationPolicy") {
        // Kept by the real server for old clients of these two.
        "" if kind.is("batch", "Job") || kind.is("", "ReplicationController") => "Orphan",
        "" if orphan == Some(true) => "Orphan",
        "" => "Background",
        policy => policy,
    };
    let (wanted, other) = match policy {
        "Orphan" => (Some("orphan"), "foregroundDeletion"),
        "Foreground" => (Some("foregroundDeletion"), "orphan"),
        _ => (None, "orphan"),
    };
    let mut finalizers: Vec<String> = object::finalizers(object).map(str::to_owned).collect();
    if !text(options, "propagationPolicy").is_empty() {
        finalizers.retain(|f| f != other && (wanted.is_some() || f != "foregroundDeletion"));
    }
    if let Some(wanted) = wanted
        && !finalizers.iter().any(|f| f == wanted)
    {
        finalizers.push(wanted.to_owned());
    }
    if finalizers.is_empty() {
        object::remove(object, "metadata.finalizers");
    } else {
        object::put(object, "metadata.finalizers", finalizers);
    }
}

/// Removes one finalizer, as the controller that owns it.
pub(crate) fn release(sim: &Sim, target: &Target, finalizer: &str) {
    let write = Write { manager: "kube-controller-manager", system: true, ..Write::default() };
    let done = super::update::edit(sim, target, &write, |object| {
        let rest: Vec<Value> = object::list(object, "metadata.finalizers")
            .iter()
            .filter(|f| **f != finalizer)
            .cloned()
            .collect();
        if rest.is_empty() {
            object::remove(object, "metadata.finalizers");
        } else {
            object::put(object, "metadata.finalizers", rest);
        }
        Ok(())
    });
    if let Err(refusal) = done {
        tracing::debug!(message = refusal.message, finalizer, "finalizer not released");
    }
}
