//! CustomResourceDefinitions: name acceptance, registration of the kind, cleanup of its objects on deletion.

use std::time::Duration;

use serde_json::{Value, json};

use super::ControllerContext;
use super::conditions::{self, ConditionUpdate};
use crate::object::{self, array_at, bool_at, set_value, str_at, value_at};
use crate::verbs::delete;

/// The finalizer that retains a definition until its objects are deleted.
const CLEANUP_FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let kind = ctx.builtin_kind("apiextensions.k8s.io", "CustomResourceDefinition")?;
    let Some(found) = ctx.sim.store.get(kind.id, key) else {
        if let Some((plural, group)) = key.trim_start_matches('/').split_once('.') {
            ctx.sim.kinds.unregister(group, plural);
        }
        return None;
    };
    let definition = &found.value;
    if object::is_deleting(definition) {
        delete_custom_objects(ctx, definition);
        return None;
    }
    let now = ctx.sim.clock.now_rfc3339();
    let taken = name_conflict(ctx, definition);
    if taken.is_none() {
        ctx.sim.kinds.register(definition);
    }
    ctx.edit_object(&kind, definition, "status", |live| {
        let mut finalizers = array_at(live, "metadata.finalizers").to_vec();
        if !finalizers.iter().any(|f| f == CLEANUP_FINALIZER) {
            finalizers.push(CLEANUP_FINALIZER.into());
            set_value(live, "metadata.finalizers", finalizers);
        }
        write_status(live, taken.as_deref(), &now);
    });
    None
}

fn name_conflict(ctx: &ControllerContext, definition: &Value) -> Option<String> {
    let (group, kind) = (str_at(definition, "spec.group"), str_at(definition, "spec.names.kind"));
    let found = ctx.sim.kinds.served().find(group, kind)?;
    (found.plural != str_at(definition, "spec.names.plural")).then(|| format!("\"{kind}\" is already in use"))
}

fn write_status(live: &mut Value, taken: Option<&str>, now: &str) {
    let mut names = value_at(live, "spec.names").cloned().unwrap_or_default();
    object::remove_nulls(&mut names);
    let (accepted, reason) = if taken.is_none() { (true, "NoConflicts") } else { (false, "KindConflict") };
    let message = taken.unwrap_or("no conflicts found");
    if accepted {
        set_value(live, "status.acceptedNames", names);
    } else {
        object::set_default(live, "status.acceptedNames", json!({"plural": "", "kind": ""}));
    }
    let stored: Vec<Value> = array_at(live, "spec.versions")
        .iter()
        .filter(|v| bool_at(v, "storage"))
        .map(|v| v["name"].clone())
        .collect();
    object::set_default(live, "status.storedVersions", stored);
    conditions::set_condition(
        live,
        ConditionUpdate { kind: "NamesAccepted", status: accepted, reason, message },
        now,
        false,
    );
    let (reason, message) = if accepted {
        ("InitialNamesAccepted", "the initial names have been accepted")
    } else {
        ("NotAccepted", "not all names are accepted")
    };
    conditions::set_condition(
        live,
        ConditionUpdate { kind: "Established", status: accepted, reason, message },
        now,
        false,
    );
}

fn delete_custom_objects(ctx: &mut ControllerContext, definition: &Value) {
    let (group, name) = (str_at(definition, "spec.group"), str_at(definition, "spec.names.kind"));
    let mut left = 0;
    if let Some(kind) = ctx.sim.kinds.served().find(group, name).filter(|k| k.is_custom) {
        for object in ctx.sim.store.list(kind.id, None).0 {
            ctx.delete_object(&kind, &object.value);
        }
        left = ctx.sim.store.list(kind.id, None).0.len();
    }
    if left == 0
        && let Some(kind) = ctx.builtin_kind("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        delete::remove_finalizer(&ctx.sim, &super::resource_path(&kind, definition), CLEANUP_FINALIZER);
    }
}
