//! Garbage collection of dependents.

use std::time::Duration;

use serde_json::Value;

use super::ControllerContext;
use crate::object::{self, array_at, bool_at, str_at};
use crate::verbs::delete;

/// Deletes the dependents of a deleted owner, unless another owner exists.
pub(super) fn reconcile(ctx: &mut ControllerContext, uid: &str) -> Option<Duration> {
    if ctx.sim.store.get_by_uid(uid).is_some() {
        return None;
    }
    for (id, child) in ctx.sim.store.dependents(uid) {
        let Some(kind) = ctx.sim.kinds.served().kinds.iter().find(|k| k.id == id).cloned() else {
            continue;
        };
        let owners = array_at(&child.value, "metadata.ownerReferences");
        let alive = owners.iter().any(|o| ctx.sim.store.get_by_uid(str_at(o, "uid")).is_some());
        if alive {
            remove_owner(ctx, &kind, &child.value, uid);
        } else {
            ctx.delete_object(&kind, &child.value);
        }
    }
    None
}

fn remove_owner(
    ctx: &ControllerContext,
    kind: &std::sync::Arc<crate::kinds::ResourceKind>,
    child: &Value,
    uid: &str,
) {
    ctx.edit_object(kind, child, "", |child| {
        let rest: Vec<Value> = array_at(child, "metadata.ownerReferences")
            .iter()
            .filter(|o| str_at(o, "uid") != uid)
            .cloned()
            .collect();
        if rest.is_empty() {
            object::remove_value(child, "metadata.ownerReferences");
        } else {
            object::set_value(child, "metadata.ownerReferences", rest);
        }
    });
}

/// Processes a terminating owner: `orphan` removes the owner references of its dependents, `foregroundDeletion` deletes
/// them and waits for those that block the owner.
pub(super) fn reconcile_dependents(ctx: &mut ControllerContext, uid: &str) -> Option<Duration> {
    let (id, owner) = ctx.sim.store.get_by_uid(uid)?;
    let kind = ctx.sim.kinds.served().kinds.iter().find(|k| k.id == id).cloned()?;
    let has = |finalizer: &str| object::finalizers(&owner.value).any(|f| f == finalizer);
    let target = super::resource_path(&kind, &owner.value);
    let children = ctx.sim.store.dependents(uid);
    let kinds = ctx.sim.kinds.served();
    let kind_of = |id: usize| kinds.kinds.iter().find(|k| k.id == id).cloned();
    if has("orphan") {
        for (id, child) in &children {
            if let Some(kind) = kind_of(*id) {
                remove_owner(ctx, &kind, &child.value, uid);
            }
        }
        delete::remove_finalizer(&ctx.sim, &target, "orphan");
        return None;
    }
    if !has("foregroundDeletion") {
        return None;
    }
    let mut blocked = false;
    for (id, child) in &children {
        let Some(kind) = kind_of(*id) else { continue };
        let owners = array_at(&child.value, "metadata.ownerReferences");
        blocked |= owners.iter().any(|o| str_at(o, "uid") == uid && bool_at(o, "blockOwnerDeletion"));
        if !object::is_deleting(&child.value) {
            let options = serde_json::json!({"propagationPolicy": "Foreground"});
            delete::delete_as_system(&ctx.sim, &super::resource_path(&kind, &child.value), &options);
        }
    }
    let left = ctx.sim.store.dependents(uid).len();
    if left == 0 || !blocked {
        delete::remove_finalizer(&ctx.sim, &target, "foregroundDeletion");
    }
    None
}
