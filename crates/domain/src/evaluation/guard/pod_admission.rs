//! The level of the Pod Security Standards that a namespace enforces by its label (G220).

use super::cluster_context::ClusterContext;
use super::pod_security::PodSecurityLevel;
use super::rule_context::quote;
use crate::text::finding::Finding;

/// G220: violations of the level that the namespace of each pod enforces on this cluster.
pub(super) fn enforced(context: &ClusterContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (at, pod) in context.rule_context.pods.iter().enumerate() {
        let namespace = &pod.owner.name.namespace;
        // A Namespace object of the workload takes precedence: it is applied before the pods.
        let own = context
            .rule_context
            .objects_of_kind("", "Namespace")
            .find(|object| object.name.name == *namespace);
        let declared =
            own.map_or("", |object| object.text("/metadata/labels/pod-security.kubernetes.io~1enforce"));
        let current = context.cluster.facts.namespace(namespace).map_or("", |facts| &facts.pod_security);
        let label = if declared.is_empty() { current } else { declared };
        let level = match label {
            "baseline" => PodSecurityLevel::Baseline,
            "restricted" => PodSecurityLevel::Restricted,
            _ => continue,
        };
        findings.extend(context.violations(level)[at].iter().map(|violation| {
            let message = format!(
                "Namespace {} enforces the pod security level {label}, and {}: no pod of {} would start.",
                quote(namespace),
                violation.description,
                pod.owner.display_name
            );
            pod.owner.error("G220", &violation.path, message, violation.remedy)
        }));
    }
    findings
}
