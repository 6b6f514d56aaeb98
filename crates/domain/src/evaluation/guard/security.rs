//! Privileges with access to the node (G221).

use serde_json::Value;

use super::rule_context::{PodTemplate, RuleContext, items, quote};
use crate::text::finding::Finding;

/// G221: privileged containers, host namespaces, host paths.
pub(super) fn privileges(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        context.pods.iter().flat_map(|pod| host_access(pod).into_iter().chain(host_paths(pod))).collect();
    for (pod, container) in context.containers() {
        if container.value.pointer("/securityContext/privileged") == Some(&Value::Bool(true)) {
            let path = format!("{}/securityContext/privileged", container.path);
            let message = format!(
                "Container {} is privileged: code that runs in it can take control of the node.",
                quote(container.name)
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

fn host_access(pod: &PodTemplate<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (field, what) in [("hostNetwork", "network"), ("hostPID", "processes"), ("hostIPC", "shared memory")]
    {
        if pod.spec[field] == true {
            let message = format!("{field} lets the pod see the node's {what}.");
            findings.push(pod.owner.warning(
                "G221",
                &pod.spec_pointer(&format!("/{field}")),
                message,
                "Leave it out unless this is a node agent.",
            ));
        }
    }
    findings
}

fn host_paths(pod: &PodTemplate<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, volume) in items(pod.spec.get("volumes")).iter().enumerate() {
        let Some(path) = volume.pointer("/hostPath/path").and_then(Value::as_str) else { continue };
        let risk = if path.ends_with("docker.sock") || path.ends_with("containerd.sock") {
            "a process with access to that socket controls the node"
        } else {
            "data written there stays on one node, and the pod can access the node's files"
        };
        let message = format!(
            "Volume {} is the node's {}: {risk}.",
            quote(volume["name"].as_str().unwrap_or_default()),
            quote(path)
        );
        let hint = "Use a PersistentVolumeClaim, an emptyDir or a ConfigMap instead.";
        findings.push(pod.owner.warning(
            "G221",
            &pod.spec_pointer(&format!("/volumes/{at}/hostPath")),
            message,
            hint,
        ));
    }
    findings
}
