//! What is published in the life of a busy cluster.

use serde_json::{Value, json};

use super::{CREW, CRON_JOB, DISRUPTION_BUDGET, ENTRY, Kind, NETWORK_POLICY, ROLE, ROLE_BINDING, WEBHOOK};
use crate::harness::*;

/// Fields that are certainly among the edited ones: of every kind, and of every type of list and map.
pub const EDITED_PATHS: [(&str, &str); 17] = [
    ("ConfigMap", "/data/key"),
    ("ConfigMap", "/metadata/finalizers[.=life.example.com/b]"),
    ("Secret", "/data/user"),
    ("Deployment", "/spec/template/spec/containers[name=web]/image"),
    ("Deployment", "/spec/template/spec/containers[name=web]/env[name=LEVEL]"),
    ("Service", "/spec/selector"),
    ("NetworkPolicy", "/spec/podSelector"),
    ("ServiceAccount", "/imagePullSecrets"),
    ("Entry", "/spec/listeners[name=https]"),
    ("Entry", "/spec/zones[.=b]"),
    ("Role", "/rules"),
    ("RoleBinding", "/subjects"),
    ("PodDisruptionBudget", "/spec/maxUnavailable"),
    ("PodDisruptionBudget", "/spec/selector"),
    ("CronJob", "/spec/schedule"),
    ("CronJob", "/spec/concurrencyPolicy"),
    ("CronJob", "/spec/jobTemplate/spec/template/spec/containers[name=report]/image"),
];

/// Fields that every revision has alike and no event changes for good: the kind and the name of the object, the field and its value.
pub fn unchanged_fields() -> [(Kind, &'static str, &'static str, Value); 8] {
    let image = "/spec/jobTemplate/spec/template/spec/containers/0/image";
    [
        (ROLE, "reader", "/rules", rules()),
        (ROLE_BINDING, "reader", "/subjects", subjects()),
        (ROLE_BINDING, "reader", "/roleRef/name", "reader".into()),
        (DISRUPTION_BUDGET, "web", "/spec/maxUnavailable", 1.into()),
        (DISRUPTION_BUDGET, "web", "/spec/selector", json!({"matchLabels": {"app": "web"}})),
        (CRON_JOB, "report", "/spec/schedule", "0 3 * * *".into()),
        (CRON_JOB, "report", "/spec/concurrencyPolicy", "Forbid".into()),
        (CRON_JOB, "report", image, "report:1".into()),
    ]
}

fn rules() -> Value {
    json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}])
}

fn subjects() -> Value {
    json!([{"kind": "ServiceAccount", "name": "web", "namespace": "default"}])
}

/// Whether a revision has the ConfigMap `banner`, which is pruned once the next revision is operational.
pub const fn has_banner(revision: i64) -> bool {
    revision % 2 == 0
}

/// Whether a revision has the NetworkPolicy `extra`, which is pruned as soon as the next revision is applied.
pub const fn has_extra(revision: i64) -> bool {
    revision % 3 == 0
}

/// The number of objects that are pruned when this revision replaces the one before.
pub fn count_dropped(revision: i64) -> u64 {
    let is_dropped = |has: fn(i64) -> bool| has(revision - 1) && !has(revision);
    u64::from(is_dropped(has_banner)) + u64::from(is_dropped(has_extra))
}

/// The objects of a revision.
pub fn objects(revision: i64) -> Vec<Value> {
    let policy = |name: &str| {
        json!({"apiVersion": NETWORK_POLICY.0, "kind": NETWORK_POLICY.1,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"podSelector": {}, "policyTypes": ["Ingress"]}})
    };
    let mut all = lasting_objects(revision);
    all.extend(has_banner(revision).then(|| config_map("banner", "1")));
    all.extend(has_extra(revision).then(|| policy("extra")));
    all.push(policy("deny"));
    all.push(deployment("pool", 2, "pool:1"));
    all.extend(rights_and_budgets());
    all
}

/// A role with its binding, a disruption budget and a CronJob, which every revision has.
fn rights_and_budgets() -> [Value; 4] {
    let metadata = |name: &str| json!({"name": name, "namespace": "default"});
    let role = json!({"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"});
    let pod = json!({"restartPolicy": "OnFailure", "containers": [{"name": "report", "image": "report:1"}]});
    [
        json!({"apiVersion": ROLE.0, "kind": ROLE.1, "metadata": metadata("reader"), "rules": rules()}),
        json!({"apiVersion": ROLE_BINDING.0, "kind": ROLE_BINDING.1, "metadata": metadata("reader"),
            "roleRef": role, "subjects": subjects()}),
        json!({"apiVersion": DISRUPTION_BUDGET.0, "kind": DISRUPTION_BUDGET.1, "metadata": metadata("web"),
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "web"}}}}),
        json!({"apiVersion": CRON_JOB.0, "kind": CRON_JOB.1, "metadata": metadata("report"),
            "spec": {"schedule": "0 3 * * *", "concurrencyPolicy": "Forbid",
                "jobTemplate": {"spec": {"template": {"spec": pod}}}}}),
    ]
}

/// The objects that every revision has.
fn lasting_objects(revision: i64) -> Vec<Value> {
    let named = |api_version: &str, kind: &str, name: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "default"}});
    let with = |mut object: Value, fields: Value| {
        for (field, value) in fields.as_object().unwrap() {
            object[field] = value.clone();
        }
        object
    };
    let mut settings = config_map("settings", &revision.to_string());
    settings["metadata"]["finalizers"] = json!(["life.example.com/a", "life.example.com/b"]);
    let mut web = deployment("web", 2, "nginx:1");
    web["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{"name": "LEVEL", "value": "info"}]);
    let mut webhook = named(WEBHOOK.0, WEBHOOK.1, "checks.life.example.com");
    webhook["metadata"].as_object_mut().unwrap().remove("namespace");
    let item = json!({"type": "object", "required": ["name"],
        "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}});
    let mut definition =
        named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "entries.life.example.com");
    definition["metadata"].as_object_mut().unwrap().remove("namespace");
    let mut crews = named("apiextensions.k8s.io/v1", "CustomResourceDefinition", "crews.life.example.com");
    crews["metadata"].as_object_mut().unwrap().remove("namespace");
    let with_size = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
    vec![
        with(
            crews,
            json!({"spec": {"group": "life.example.com", "scope": "Namespaced",
            "names": {"plural": "crews", "singular": "crew", "kind": "Crew", "listKind": "CrewList"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "subresources": {"scale": {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}},
                "schema": {"openAPIV3Schema": {"type": "object",
                    "properties": {"spec": with_size, "status": with_size}}}}]}}),
        ),
        with(named(CREW.0, CREW.1, "night"), json!({"spec": {"size": 2}})),
        with(
            definition,
            json!({"spec": {"group": "life.example.com", "scope": "Namespaced",
            "names": {"plural": "entries", "singular": "entry", "kind": "Entry", "listKind": "EntryList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "listeners": {"type": "array", "x-kubernetes-list-type": "map",
                        "x-kubernetes-list-map-keys": ["name"], "items": item},
                    "zones": {"type": "array", "x-kubernetes-list-type": "set",
                        "items": {"type": "string"}}}}}}}}]}}),
        ),
        settings,
        with(named("v1", "Secret", "login"), json!({"stringData": {"user": "ann", "password": "x"}})),
        with(named("v1", "ServiceAccount", "web"), json!({"imagePullSecrets": [{"name": "registry"}]})),
        service("web"),
        web,
        with(
            webhook,
            json!({"webhooks": [{
            "name": "checks.life.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:1/", "caBundle": ""},
            "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"],
                "resources": ["lamps"]}]}]}),
        ),
        with(
            named(ENTRY.0, ENTRY.1, "public"),
            json!({"spec": {"zones": ["a", "b"],
            "listeners": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]}}),
        ),
    ]
}
