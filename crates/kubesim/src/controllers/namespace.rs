//! Namespaces: creates the default service account, deletes the contents of terminating namespaces.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::ControllerContext;
use super::conditions::{self, ConditionUpdate};
use crate::object;
use crate::store;
use crate::verbs::{WriteOptions, update};

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let namespace = ctx.get_object("", "Namespace", key)?;
    let namespace = &namespace.value;
    let name = object::name(namespace).to_owned();
    if object::is_deleting(namespace) {
        delete_contents(ctx, namespace, &name);
        return None;
    }
    let accounts = ctx.builtin_kind("", "ServiceAccount")?;
    let maps = ctx.builtin_kind("", "ConfigMap")?;
    for (kind, object) in [
        (accounts, json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}})),
        (
            maps,
            json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": {"ca.crt": "simulated"},
                "metadata": {"name": "kube-root-ca.crt"},
            }),
        ),
    ] {
        let mut object = object;
        if ctx.sim.store.get(kind.id, &store::object_key(&name, object::name(&object))).is_none() {
            object["metadata"]["namespace"] = name.as_str().into();
            // A concurrent creation or a deleted namespace is not an error.
            let _ = ctx.create_object(&kind, object);
        }
    }
    None
}

fn delete_contents(ctx: &mut ControllerContext, namespace: &Value, name: &str) {
    let mut finalizers: BTreeMap<String, usize> = BTreeMap::new();
    let mut remaining: BTreeMap<String, usize> = BTreeMap::new();
    let served = ctx.sim.kinds.served();
    for kind in served.kinds.iter().filter(|k| k.namespaced) {
        for found in ctx.sim.store.list(kind.id, Some(name)).0 {
            if !object::is_deleting(&found.value) {
                ctx.delete_object(kind, &found.value);
            }
        }
        for left in ctx.sim.store.list(kind.id, Some(name)).0 {
            *remaining.entry(kind.resource_name()).or_default() += 1;
            for finalizer in object::finalizers(&left.value) {
                *finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
    }
    let Some(kind) = ctx.builtin_kind("", "Namespace") else { return };
    if remaining.is_empty() {
        let write =
            WriteOptions { manager: "kube-controller-manager", by_system: true, ..WriteOptions::default() };
        // A concurrent deletion is not an error.
        let _ = update::edit_object(&ctx.sim, &super::resource_path(&kind, namespace), &write, |live| {
            object::remove_value(live, "spec.finalizers");
            Ok(())
        });
        return;
    }
    let now = ctx.sim.clock.now_rfc3339();
    let list = |counts: &BTreeMap<String, usize>, what: &str| {
        let parts: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {what} {n}")).collect();
        parts.join(", ")
    };
    let content = format!("Some resources are remaining: {} resource instances", list(&remaining, "has"));
    let held = format!(
        "Some content in the namespace has finalizers remaining: {} resource instances",
        list(&finalizers, "in")
    );
    ctx.update_status(&kind, namespace, |live| {
        let condition = ConditionUpdate {
            kind: "NamespaceContentRemaining",
            status: true,
            reason: "SomeResourcesRemain",
            message: &content,
        };
        conditions::set_condition(live, condition, &now, false);
        if !finalizers.is_empty() {
            let condition = ConditionUpdate {
                kind: "NamespaceFinalizersRemaining",
                status: true,
                reason: "SomeFinalizersRemain",
                message: &held,
            };
            conditions::set_condition(live, condition, &now, false);
        }
    });
}
