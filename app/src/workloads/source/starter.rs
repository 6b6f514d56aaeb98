//! Manifests that a new workload of the form starts from. Image and ports are left to the person.

use serde_json::{Value, json};

/// A Deployment with one container and default resources; without image and ports.
pub fn starter_deployment(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": starter_pod(name)},
        },
    })
}

/// The pod of a new object.
pub fn starter_pod(name: &str) -> Value {
    json!({"containers": [starter_container(name)]})
}

/// A new container.
pub fn starter_container(name: &str) -> Value {
    json!({
        "name": name,
        "image": "",
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}},
    })
}

/// The file that a new workload starts from.
#[cfg(feature = "ssr")]
pub fn starter_file(name: &str) -> domain::workload::SourceFile {
    let text = domain::yaml_edit::add_document("", &starter_deployment(name));
    domain::workload::SourceFile { name: "deploy.yaml".to_owned(), text }
}
