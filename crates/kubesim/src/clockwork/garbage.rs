//! Garbage collection: what an owner leaves behind.

use std::time::Duration;

use serde_json::Value;

use super::Works;
use crate::object::{self, flag, list, text};
use crate::verbs::delete;

/// The owner of that uid is gone: its dependents go too, unless another owner is left.
pub(super) fn work(works: &mut Works, uid: &str) -> Option<Duration> {
    if works.sim.store.by_uid(uid).is_some() {
        return None;
    }
    for (id, child) in works.sim.store.children(uid) {
        let Some(kind) = works.sim.kinds.served().kinds.iter().find(|k| k.id == id).cloned() else {
            continue;
        };
        let owners = list(&child.value, "metadata.ownerReferences");
        let alive = owners.iter().any(|o| works.sim.store.by_uid(text(o, "uid")).is_some());
        if alive {
            disown(works, &kind, &child.value, uid);
        } else {
            works.delete(&kind, &child.value);
        }
    }
    None
}

fn disown(works: &Works, kind: &std::sync::Arc<crate::kinds::Kind>, child: &Value, uid: &str) {
    works.edit(kind, child, "", |child| {
        let rest: Vec<Value> = list(child, "metadata.ownerReferences")
            .iter()
            .filter(|o| text(o, "uid") != uid)
            .cloned()
            .collect();
        if rest.is_empty() {
            object::remove(child, "metadata.ownerReferences");
        } else {
            object::put(child, "metadata.ownerReferences", rest);
        }
    });
}

/// An owner that waits: `orphan` lets its dependents go first, `foregroundDeletion` waits until they are gone.
pub(super) fn dependents(works: &mut Works, uid: &str) -> Option<Duration> {
    let (id, owner) = works.sim.store.by_uid(uid)?;
    let kind = works.sim.kinds.served().kinds.iter().find(|k| k.id == id).cloned()?;
    let has = |finalizer: &str| object::finalizers(&owner.value).any(|f| f == finalizer);
    let target = super::target(&kind, &owner.value);
    let children = works.sim.store.children(uid);
    let kinds = works.sim.kinds.served();
    let kind_of = |id: usize| kinds.kinds.iter().find(|k| k.id == id).cloned();
    if has("orphan") {
        for (id, child) in &children {
            if let Some(kind) = kind_of(*id) {
                disown(works, &kind, &child.value, uid);
            }
        }
        delete::release(&works.sim, &target, "orphan");
        return None;
    }
    if !has("foregroundDeletion") {
        return None;
    }
    let mut blocked = false;
    for (id, child) in &children {
        let Some(kind) = kind_of(*id) else { continue };
        let owners = list(&child.value, "metadata.ownerReferences");
        blocked |= owners.iter().any(|o| text(o, "uid") == uid && flag(o, "blockOwnerDeletion"));
        if !object::deleting(&child.value) {
            let options = serde_json::json!({"propagationPolicy": "Foreground"});
            delete::by_system(&works.sim, &super::target(&kind, &child.value), &options);
        }
    }
    let left = works.sim.store.children(uid).len();
    if left == 0 || !blocked {
        delete::release(&works.sim, &target, "foregroundDeletion");
    }
    None
}
