//! Namespaces: a default account while they live, and an empty end.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::Works;
use super::conditions::{self, Condition};
use crate::object;
use crate::store;
use crate::verbs::{Write, update};

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let namespace = works.get("", "Namespace", key)?;
    let namespace = &namespace.value;
    let name = object::name(namespace).to_owned();
    if object::deleting(namespace) {
        empty(works, namespace, &name);
        return None;
    }
    let accounts = works.kind("", "ServiceAccount")?;
    let maps = works.kind("", "ConfigMap")?;
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
        if works.sim.store.get(kind.id, &store::key(&name, object::name(&object))).is_none() {
            object["metadata"]["namespace"] = name.as_str().into();
            // Somebody may have been faster, or the namespace has just gone; both are fine.
            let _ = works.create(&kind, object);
        }
    }
    None
}

fn empty(works: &mut Works, namespace: &Value, name: &str) {
    let mut finalizers: BTreeMap<String, usize> = BTreeMap::new();
    let mut remaining: BTreeMap<String, usize> = BTreeMap::new();
    let served = works.sim.kinds.served();
    for kind in served.kinds.iter().filter(|k| k.namespaced) {
        for found in works.sim.store.list(kind.id, Some(name)).0 {
            if !object::deleting(&found.value) {
                works.delete(kind, &found.value);
            }
        }
        for left in works.sim.store.list(kind.id, Some(name)).0 {
            *remaining.entry(kind.resource()).or_default() += 1;
            for finalizer in object::finalizers(&left.value) {
                *finalizers.entry(finalizer.to_owned()).or_default() += 1;
            }
        }
    }
    let Some(kind) = works.kind("", "Namespace") else { return };
    if remaining.is_empty() {
        let write = Write { manager: "kube-controller-manager", system: true, ..Write::default() };
        // Gone in between is as good.
        let _ = update::edit(&works.sim, &super::target(&kind, namespace), &write, |live| {
            object::remove(live, "spec.finalizers");
            Ok(())
        });
        return;
    }
    let now = works.sim.clock.stamp();
    let list = |counts: &BTreeMap<String, usize>, what: &str| {
        let parts: Vec<String> = counts.iter().map(|(name, n)| format!("{name} {what} {n}")).collect();
        parts.join(", ")
    };
    let content = format!("Some resources are remaining: {} resource instances", list(&remaining, "has"));
    let held = format!(
        "Some content in the namespace has finalizers remaining: {} resource instances",
        list(&finalizers, "in")
    );
    works.status(&kind, namespace, |live| {
        let condition = Condition {
            kind: "NamespaceContentRemaining",
            status: true,
            reason: "SomeResourcesRemain",
            message: &content,
        };
        conditions::set(live, condition, &now, false);
        if !finalizers.is_empty() {
            let condition = Condition {
                kind: "NamespaceFinalizersRemaining",
                status: true,
                reason: "SomeFinalizersRemain",
                message: &held,
            };
            conditions::set(live, condition, &now, false);
        }
    });
}
