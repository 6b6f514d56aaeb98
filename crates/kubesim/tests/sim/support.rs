//! Test helpers: an in-process cluster with a client, manifests, and waiting for a condition.

use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use kubesim::{SimCluster, SimOptions};
use serde_json::{Value, json};

/// A cluster whose pods start within milliseconds, and its client.
pub fn start_cluster() -> (SimCluster, Client) {
    let cluster =
        SimCluster::new(SimOptions { pod_start: Duration::from_millis(20), ..SimOptions::default() });
    let client = Client::new(cluster.service(), "default");
    (cluster, client)
}

/// A Deployment of one container.
pub fn deployment(name: &str, replicas: i64, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "namespace": "default", "labels": {"app": name}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": image, "ports": [{"containerPort": 80}]}]},
            },
        },
    })
}

/// A ConfigMap.
pub fn config_map(name: &str, value: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"key": value},
    })
}

/// Applies a Deployment.
pub async fn apply_deployment(
    api: &Api<Deployment>,
    value: &Value,
    manager: &str,
    force: bool,
) -> kube::Result<Deployment> {
    let mut params = PatchParams::apply(manager);
    params.force = force;
    api.patch(value["metadata"]["name"].as_str().unwrap(), &params, &Patch::Apply(value)).await
}

/// A typed object from a manifest.
pub fn parse_object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

/// An API for any kind.
pub fn dynamic_api(
    client: &Client,
    version: &str,
    kind: &str,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    let resource = kube::api::ApiResource::from_gvk(&gvk(version, kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

fn gvk(version: &str, kind: &str) -> kube::api::GroupVersionKind {
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    kube::api::GroupVersionKind::gvk(group, version, kind)
}

/// Waits until the object in the cluster satisfies `done`; panics with its last state after ten seconds.
pub async fn wait_until(
    cluster: &SimCluster,
    what: (&str, &str),
    name: (&str, &str),
    done: impl Fn(&Value) -> bool,
) -> Value {
    let mut last = Value::Null;
    for _ in 0..12_000 {
        last = cluster.get(what, name).unwrap_or_default();
        if done(&last) {
            return last;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    if let Some(metadata) = last.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    let pods = cluster.list(("v1", "Pod"), None);
    let pods: Vec<String> =
        pods.iter().map(|p| format!("{} {}", p["metadata"]["name"], p["status"])).collect();
    panic!("{what:?} {name:?} did not reach the expected state: {last:#}\npods: {pods:#?}");
}

/// The status of a condition.
pub fn condition_status<'v>(value: &'v Value, kind: &str) -> &'v str {
    let conditions = value["status"]["conditions"].as_array();
    let found = conditions.and_then(|c| c.iter().find(|c| c["type"] == kind));
    found.and_then(|c| c["status"].as_str()).unwrap_or("")
}

/// The `Status` of a call that must fail.
pub fn api_error<T: std::fmt::Debug>(result: kube::Result<T>) -> Box<kube::core::Status> {
    match result {
        Err(kube::Error::Api(status)) => status,
        other => panic!("expected an API error, got {other:?}"),
    }
}
