//! Volumes and where they are mounted (G217).

use std::collections::HashSet;

use serde_json::Value;

use super::scene::{Pod, Scene, items, quoted};
use crate::finding::Finding;
use crate::name;

/// G217: a mount names a volume of the pod, at a path of its own.
pub(super) fn mounts(scene: &Scene<'_>) -> Vec<Finding> {
    scene.pods.iter().flat_map(of_pod).collect()
}

fn of_pod(pod: &Pod<'_>) -> Vec<Finding> {
    let volumes = volume_names(pod);
    let mut findings = Vec::new();
    for container in &pod.containers {
        let mut paths = HashSet::new();
        for (at, mount) in items(container.value.get("volumeMounts")).iter().enumerate() {
            let path = format!("{}/volumeMounts/{at}", container.path);
            let name = mount["name"].as_str().unwrap_or_default();
            let place = mount["mountPath"].as_str().unwrap_or_default();
            let container = quoted(container.name);
            if !volumes.contains(name) {
                let message =
                    format!("Container {container} mounts {} but no volume has that name.", quoted(name));
                let hint = "Add it under volumes of the pod, or correct the name.";
                findings.push(pod.owner.error("G217", &format!("{path}/name"), message, hint));
            }
            if place.is_empty() || !paths.insert(place) {
                let message = match place {
                    "" => {
                        format!("Container {container} mounts {} nowhere: it has no mountPath.", quoted(name))
                    }
                    _ => format!("Container {container} mounts two volumes at {}.", quoted(place)),
                };
                findings.push(pod.owner.error(
                    "G217",
                    &format!("{path}/mountPath"),
                    message,
                    "Give each mount a path of its own.",
                ));
            }
        }
    }
    findings
}

/// G217: volumes have names that differ, and are made of one thing.
pub(super) fn volumes(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in &scene.pods {
        let mut seen = HashSet::new();
        for (at, volume) in items(pod.spec.get("volumes")).iter().enumerate() {
            let name = volume["name"].as_str().unwrap_or_default();
            let sources = volume.as_object().map_or(0, |map| {
                map.iter().filter(|(key, source)| *key != "name" && !source.is_null()).count()
            });
            let (why, hint) = if !name::is_label(name) {
                ("has no valid name", "Name it with lower-case letters, digits and \"-\".")
            } else if !seen.insert(name) {
                ("is there twice", "Rename one of them.")
            } else if sources > 1 {
                ("is made of more than one thing", "Keep one, such as emptyDir or configMap.")
            } else {
                continue;
            };
            let message =
                format!("Volume {} of {} {why}; Kubernetes refuses it.", quoted(name), pod.owner.shown);
            findings.push(pod.owner.error("G217", &pod.at(&format!("/volumes/{at}")), message, hint));
        }
    }
    findings
}

fn volume_names<'a>(pod: &Pod<'a>) -> HashSet<&'a str> {
    let own = items(pod.spec.get("volumes")).iter().filter_map(|volume| volume["name"].as_str());
    let claims = pod.owner.items("/spec/volumeClaimTemplates");
    let claimed = claims.iter().filter_map(|claim| claim.pointer("/metadata/name").and_then(Value::as_str));
    own.chain(claimed).collect()
}
