//! Namespaces that do not exist on a cluster (G108).

use std::collections::BTreeSet;

use super::cluster_context::ClusterContext;
use crate::model::cluster::facts::MAX_NAMESPACES;
use crate::text::finding::Finding;

/// G108: a missing namespace is created if the policy `create_namespace` is on; otherwise it must exist.
pub(super) fn missing(context: &ClusterContext<'_>) -> Vec<Finding> {
    let facts = &context.cluster.facts;
    if facts.namespaces.is_empty() || facts.namespaces.len() >= MAX_NAMESPACES {
        return Vec::new();
    }
    let created: BTreeSet<&str> =
        context.rule_context.objects_of_kind("", "Namespace").map(|object| &*object.name.name).collect();
    let mut checked = BTreeSet::new();
    let mut findings = Vec::new();
    for object in context.rule_context.objects {
        let name = object.name.namespace.as_str();
        if name.is_empty()
            || created.contains(name)
            || !checked.insert(name)
            || facts.namespace(name).is_some()
        {
            continue;
        }
        findings.push(if context.spec.policies.create_namespace {
            Finding::new(
                "G108",
                crate::text::finding::Severity::Note,
                format!("Namespace {name:?} does not exist yet; it will be created."),
                "No action is needed.",
            )
        } else {
            Finding::error(
                "G108",
                format!("Namespace {name:?} does not exist, and this workload does not create it."),
                "Turn on the policy createNamespace, or create the namespace first.",
            )
        });
    }
    findings
}
