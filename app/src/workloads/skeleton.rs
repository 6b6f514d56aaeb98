//! What a workload from the form begins with: a person adds the image and the port.

use serde_json::{Value, json};

/// A Deployment with one container and sizes. Nothing in it is guessed: the image and the ports are the person's to say.
pub fn object(name: &str) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name}}, "spec": pod(name)},
        },
    })
}

/// The pod of a new object.
pub fn pod(name: &str) -> Value {
    json!({"containers": [container(name)]})
}

/// A new container.
pub fn container(name: &str) -> Value {
    json!({
        "name": name,
        "image": "",
        "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "128Mi"}},
    })
}

/// The file that a new workload begins with.
#[cfg(feature = "ssr")]
pub fn deployment(name: &str) -> domain::workload::SourceFile {
    let text = domain::edit::add_document("", &object(name));
    domain::workload::SourceFile { name: "deploy.yaml".to_owned(), text }
}
