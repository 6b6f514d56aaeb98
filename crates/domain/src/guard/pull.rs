//! What a node pulls, and whether it is the same everywhere (G203).

use super::scene::{Scene, quoted};
use super::site::Site;
use crate::cluster::Cluster;
use crate::finding::Finding;
use crate::image::Reference;

/// Tags that people move on to whatever is newest.
const MOVING: [&str; 9] =
    ["latest", "main", "master", "edge", "nightly", "dev", "develop", "snapshot", "unstable"];
/// Labels that say what a cluster is for.
const STAGE: [&str; 3] = ["env", "environment", "stage"];

/// G203: a tag that moves, and a policy that never looks where it moved to.
pub(super) fn policies(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        let policy = container.value["imagePullPolicy"].as_str().unwrap_or_default();
        let Some(image) = container.value["image"].as_str() else { continue };
        let Ok(reference) = Reference::parse(image) else { continue };
        let kept = matches!(policy, "IfNotPresent" | "Never");
        if !kept || reference.digest.is_some() || reference.tag.is_some_and(|tag| !MOVING.contains(&tag)) {
            continue;
        }
        let message = format!(
            "Container {} uses {} with imagePullPolicy {policy}: every node keeps the one it has, so replicas may run different versions.",
            quoted(container.name),
            quoted(image)
        );
        let path = format!("{}/imagePullPolicy", container.path);
        let hint = "Pin a version, best with its @sha256 digest, or write \"imagePullPolicy: Always\".";
        findings.push(pod.owner.warning("G203", &path, message, hint));
    }
    findings
}

/// G203: a version without a digest on a production cluster. Tags that move are told everywhere (G202).
pub(super) fn digests(site: &Site<'_>) -> Vec<Finding> {
    let Some(stage) = production(site.cluster) else { return Vec::new() };
    let mut findings = Vec::new();
    for (pod, container) in site.scene.containers() {
        let Some(image) = container.value["image"].as_str() else { continue };
        let Ok(reference) = Reference::parse(image) else { continue };
        if reference.digest.is_some() || matches!(reference.tag, None | Some("latest")) {
            continue;
        }
        let message = format!(
            "Container {} uses {} on production clusters ({stage}): whoever may push to the registry can put another image behind that tag.",
            quoted(container.name),
            quoted(image)
        );
        let hint = format!("Add the digest: {image}@sha256:…");
        findings.push(pod.owner.warning("G203", &format!("{}/image", container.path), message, &hint));
    }
    findings
}

/// The label that says that a cluster is for production.
fn production(cluster: &Cluster) -> Option<String> {
    STAGE.into_iter().find_map(|key| {
        let value = cluster.labels.get(key)?;
        value.to_ascii_lowercase().starts_with("prod").then(|| format!("{key}={value}"))
    })
}
