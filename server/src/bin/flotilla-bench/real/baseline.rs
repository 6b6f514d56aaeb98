//! The baseline: server-side apply of the same objects by a plain client.

use std::time::{Duration, Instant};

use futures::{StreamExt as _, TryStreamExt as _};
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};

use super::environment::BASELINE_NAMESPACE;
use super::publisher::CONCURRENCY;

/// A ServiceAccount and a Deployment.
pub fn two_objects(name: &str) -> Vec<Value> {
    vec![service_account(name), deployment(name, "1.0")]
}

/// Five objects of a small application.
pub fn five_objects(name: &str) -> Vec<Value> {
    let map = |part: &str| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("{name}-{part}")},
            "data": {"settings": "colour = blue\nsize = 7\n"}})
    };
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}});
    vec![service_account(name), map("settings"), map("more"), service, deployment(name, "1.0")]
}

fn service_account(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "labels": {"tier": "web"}}})
}

/// A Deployment with this version of its image.
pub fn deployment(name: &str, version: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "labels": {"tier": "web"}},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": name}}, "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"serviceAccountName": name, "containers": [
                {"name": "web", "image": format!("registry.example/web:{version}")}]}}}})
}

/// The manifests of a workload. JSON is YAML.
pub fn to_manifests(objects: &[Value]) -> String {
    let texts: Vec<String> = objects.iter().map(Value::to_string).collect();
    texts.join("\n---\n")
}

/// Server-side apply of one object, with force.
pub async fn apply_object(client: &kube::Client, object: &Value) -> anyhow::Result<()> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")));
    let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), BASELINE_NAMESPACE, &resource);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    api.patch(name, &PatchParams::apply("bare").force(), &Patch::Apply(object)).await?;
    Ok(())
}

/// Applies all objects, with the engine's concurrency; returns the time of each, measured from the first call.
pub async fn apply_objects(client: &kube::Client, objects: &[Value]) -> anyhow::Result<Vec<Duration>> {
    let begun = Instant::now();
    let calls = objects.iter().map(|object| async move {
        apply_object(client, object).await?;
        anyhow::Ok(begun.elapsed())
    });
    futures::stream::iter(calls).buffer_unordered(CONCURRENCY).try_collect().await
}
