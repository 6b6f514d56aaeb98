//! Volumes and where they are mounted (G217).

use std::collections::HashSet;

use serde_json::Value;

use super::scene::{Pod, Scene, items, quoted};
use crate::finding::Finding;

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

fn volume_names<'a>(pod: &Pod<'a>) -> HashSet<&'a str> {
    let own = items(pod.spec.get("volumes")).iter().filter_map(|volume| volume["name"].as_str());
    let claims = pod.owner.items("/spec/volumeClaimTemplates");
    let claimed = claims.iter().filter_map(|claim| claim.pointer("/metadata/name").and_then(Value::as_str));
    own.chain(claimed).collect()
}
