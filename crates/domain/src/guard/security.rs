//! Privileges that reach beyond the pod (G221).

use serde_json::Value;

use super::scene::{Pod, Scene, items, quoted};
use crate::finding::Finding;

/// G221: privileged containers, host namespaces, host paths.
pub(super) fn privileges(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        scene.pods.iter().flat_map(|pod| host_access(pod).into_iter().chain(host_paths(pod))).collect();
    for (pod, container) in scene.containers() {
        if container.value.pointer("/securityContext/privileged") == Some(&Value::Bool(true)) {
            let path = format!("{}/securityContext/privileged", container.path);
            let message = format!(
                "Container {} is privileged: whoever breaks into it owns the node.",
                quoted(container.name)
            );
            findings.push(pod.owner.warning(
                "G221",
                &path,
                message,
                "Leave it out, or add only the capabilities it needs.",
            ));
        }
    }
    findings
}

fn host_access(pod: &Pod<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (field, what) in [("hostNetwork", "network"), ("hostPID", "processes"), ("hostIPC", "shared memory")]
    {
        if pod.spec[field] == true {
            let message = format!("{field} lets the pod see the node's {what}.");
            findings.push(pod.owner.warning(
                "G221",
                &pod.at(&format!("/{field}")),
                message,
                "Leave it out unless it is an agent of the node.",
            ));
        }
    }
    findings
}

fn host_paths(pod: &Pod<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, volume) in items(pod.spec.get("volumes")).iter().enumerate() {
        let Some(path) = volume.pointer("/hostPath/path").and_then(Value::as_str) else { continue };
        let why = if path.ends_with("docker.sock") || path.ends_with("containerd.sock") {
            "whoever reaches that socket owns the node"
        } else {
            "what it writes stays on one node, and it can reach the node's files"
        };
        let message = format!(
            "Volume {} is the node's {}: {why}.",
            quoted(volume["name"].as_str().unwrap_or_default()),
            quoted(path)
        );
        let hint = "Use a PersistentVolumeClaim, an emptyDir or a ConfigMap instead.";
        findings.push(pod.owner.warning("G221", &pod.at(&format!("/volumes/{at}/hostPath")), message, hint));
    }
    findings
}
