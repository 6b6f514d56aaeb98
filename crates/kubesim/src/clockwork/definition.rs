//! CustomResourceDefinitions: accepted, established, served; and cleaned up after.

use std::time::Duration;

use serde_json::{Value, json};

use super::Works;
use super::conditions::{self, Condition};
use crate::object::{self, at, flag, list, put, text};
use crate::verbs::delete;

/// Keeps a definition until its objects are gone.
const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let kind = works.kind("apiextensions.k8s.io", "CustomResourceDefinition")?;
    let Some(found) = works.sim.store.get(kind.id, key) else {
        if let Some((plural, group)) = key.trim_start_matches('/').split_once('.') {
            works.sim.kinds.forget(group, plural);
        }
        return None;
    };
    let definition = &found.value;
    if object::deleting(definition) {
        clean(works, definition);
        return None;
    }
    let now = works.sim.clock.stamp();
    let taken = name_taken(works, definition);
    if taken.is_none() {
        works.sim.kinds.define(definition);
    }
    works.edit(&kind, definition, "status", |live| {
        let mut finalizers = list(live, "metadata.finalizers").to_vec();
        if !finalizers.iter().any(|f| f == CLEANUP) {
            finalizers.push(CLEANUP.into());
            put(live, "metadata.finalizers", finalizers);
        }
        report(live, taken.as_deref(), &now);
    });
    None
}

fn name_taken(works: &Works, definition: &Value) -> Option<String> {
    let (group, kind) = (text(definition, "spec.group"), text(definition, "spec.names.kind"));
    let found = works.sim.kinds.served().find(group, kind)?;
    (found.plural != text(definition, "spec.names.plural")).then(|| format!("\"{kind}\" is already in use"))
}

fn report(live: &mut Value, taken: Option<&str>, now: &str) {
    let mut names = at(live, "spec.names").cloned().unwrap_or_default();
    object::drop_nulls(&mut names);
    let (accepted, reason) = if taken.is_none() { (true, "NoConflicts") } else { (false, "KindConflict") };
    let message = taken.unwrap_or("no conflicts found");
    if accepted {
        put(live, "status.acceptedNames", names);
    } else {
        object::put_default(live, "status.acceptedNames", json!({"plural": "", "kind": ""}));
    }
    let stored: Vec<Value> = list(live, "spec.versions")
        .iter()
        .filter(|v| flag(v, "storage"))
        .map(|v| v["name"].clone())
        .collect();
    object::put_default(live, "status.storedVersions", stored);
    conditions::set(live, Condition { kind: "NamesAccepted", status: accepted, reason, message }, now, false);
    let (reason, message) = if accepted {
        ("InitialNamesAccepted", "the initial names have been accepted")
    } else {
        ("NotAccepted", "not all names are accepted")
    };
    conditions::set(live, Condition { kind: "Established", status: accepted, reason, message }, now, false);
}

fn clean(works: &mut Works, definition: &Value) {
    let (group, name) = (text(definition, "spec.group"), text(definition, "spec.names.kind"));
    let mut left = 0;
    if let Some(kind) = works.sim.kinds.served().find(group, name).filter(|k| k.custom) {
        for object in works.sim.store.list(kind.id, None).0 {
            works.delete(&kind, &object.value);
        }
        left = works.sim.store.list(kind.id, None).0.len();
    }
    if left == 0
        && let Some(kind) = works.kind("apiextensions.k8s.io", "CustomResourceDefinition")
    {
        delete::release(&works.sim, &super::target(&kind, definition), CLEANUP);
    }
}
