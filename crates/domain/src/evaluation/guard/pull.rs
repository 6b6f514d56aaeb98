//! Image references that may resolve to different images on different nodes (G203).

use super::cluster_context::ClusterContext;
use super::rule_context::{RuleContext, quote};
use crate::kubernetes::image::ImageReference;
use crate::model::cluster::Cluster;
use crate::text::finding::Finding;

/// Tags that usually point to the newest image.
const MUTABLE_TAGS: [&str; 9] =
    ["latest", "main", "master", "edge", "nightly", "dev", "develop", "snapshot", "unstable"];
/// Labels with the stage of a cluster.
const STAGE_LABELS: [&str; 3] = ["env", "environment", "stage"];

/// G203: a mutable tag with a pull policy that never pulls again.
pub(super) fn policies(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        let policy = container.value["imagePullPolicy"].as_str().unwrap_or_default();
        let Some(image) = container.value["image"].as_str() else { continue };
        let Ok(reference) = ImageReference::parse(image) else { continue };
        let cached = matches!(policy, "IfNotPresent" | "Never");
        if !cached
            || reference.digest.is_some()
            || reference.tag.is_some_and(|tag| !MUTABLE_TAGS.contains(&tag))
        {
            continue;
        }
        let message = format!(
            "Container {} uses {} with imagePullPolicy {policy}: each node uses the image in its cache, so replicas may run different versions.",
            quote(container.name),
            quote(image)
        );
        let path = format!("{}/imagePullPolicy", container.path);
        let hint = "Pin a version, best with its @sha256 digest, or write \"imagePullPolicy: Always\".";
        findings.push(pod.owner.warning("G203", &path, message, hint));
    }
    findings
}

/// G203: a tag without a digest on a production cluster. The tag `latest` is reported on all clusters (G202).
pub(super) fn digests(context: &ClusterContext<'_>) -> Vec<Finding> {
    let Some(stage) = production_label(context.cluster) else { return Vec::new() };
    let mut findings = Vec::new();
    for (pod, container) in context.rule_context.containers() {
        let Some(image) = container.value["image"].as_str() else { continue };
        let Ok(reference) = ImageReference::parse(image) else { continue };
        if reference.digest.is_some() || matches!(reference.tag, None | Some("latest")) {
            continue;
        }
        let message = format!(
            "Container {} uses {} on production clusters ({stage}): anyone with push access to the registry can replace the image of that tag.",
            quote(container.name),
            quote(image)
        );
        let hint = format!("Add the digest: {image}@sha256:…");
        findings.push(pod.owner.warning("G203", &format!("{}/image", container.path), message, &hint));
    }
    findings
}

/// The label that marks a cluster as production, as `key=value`.
fn production_label(cluster: &Cluster) -> Option<String> {
    STAGE_LABELS.into_iter().find_map(|key| {
        let value = cluster.labels.get(key)?;
        value.to_ascii_lowercase().starts_with("prod").then(|| format!("{key}={value}"))
    })
}
