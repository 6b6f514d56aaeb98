//! Volumes and volume mounts (G217).

use std::collections::HashSet;

use serde_json::Value;

use super::rule_context::{PodTemplate, RuleContext, items, quote};
use crate::kubernetes::name;
use crate::text::finding::Finding;

/// G217: a mount references a volume of the pod, at a unique path.
pub(super) fn mounts(context: &RuleContext<'_>) -> Vec<Finding> {
    context.pods.iter().flat_map(pod_mounts).collect()
}

fn pod_mounts(pod: &PodTemplate<'_>) -> Vec<Finding> {
    let volumes = volume_names(pod);
    let mut findings = Vec::new();
    for container in &pod.containers {
        let mut paths = HashSet::new();
        for (at, mount) in items(container.value.get("volumeMounts")).iter().enumerate() {
            let path = format!("{}/volumeMounts/{at}", container.path);
            let name = mount["name"].as_str().unwrap_or_default();
            let mount_path = mount["mountPath"].as_str().unwrap_or_default();
            let container = quote(container.name);
            if !volumes.contains(name) {
                let message =
                    format!("Container {container} mounts {} but no volume has that name.", quote(name));
                let hint = "Add it under volumes of the pod, or correct the name.";
                findings.push(pod.owner.error("G217", &format!("{path}/name"), message, hint));
            }
            if mount_path.is_empty() || !paths.insert(mount_path) {
                let message = match mount_path {
                    "" => format!("Container {container} mounts {} without a mountPath.", quote(name)),
                    _ => format!("Container {container} mounts two volumes at {}.", quote(mount_path)),
                };
                findings.push(pod.owner.error(
                    "G217",
                    &format!("{path}/mountPath"),
                    message,
                    "Set a different mountPath for each mount.",
                ));
            }
        }
    }
    findings
}

/// G217: volumes have unique names and one source each.
pub(super) fn volumes(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in &context.pods {
        let mut names = HashSet::new();
        for (at, volume) in items(pod.spec.get("volumes")).iter().enumerate() {
            let name = volume["name"].as_str().unwrap_or_default();
            let sources = volume.as_object().map_or(0, |map| {
                map.iter().filter(|(key, source)| *key != "name" && !source.is_null()).count()
            });
            let (problem, hint) = if !name::is_label(name) {
                ("has no valid name", "Name it with lower-case letters, digits and \"-\".")
            } else if !names.insert(name) {
                ("is listed twice", "Rename one of them.")
            } else if sources > 1 {
                ("has more than one source", "Keep one, such as emptyDir or configMap.")
            } else {
                continue;
            };
            let message = format!(
                "Volume {} of {} {problem}; Kubernetes rejects it.",
                quote(name),
                pod.owner.display_name
            );
            findings.push(pod.owner.error(
                "G217",
                &pod.spec_pointer(&format!("/volumes/{at}")),
                message,
                hint,
            ));
        }
    }
    findings
}

fn volume_names<'a>(pod: &PodTemplate<'a>) -> HashSet<&'a str> {
    let own = items(pod.spec.get("volumes")).iter().filter_map(|volume| volume["name"].as_str());
    let claims = pod.owner.items("/spec/volumeClaimTemplates");
    let claimed = claims.iter().filter_map(|claim| claim.pointer("/metadata/name").and_then(Value::as_str));
    own.chain(claimed).collect()
}
