//! Namespaces that a cluster does not have (G108).

use std::collections::BTreeSet;

use super::site::Site;
use crate::cluster::facts::NAMESPACES_MAX;
use crate::finding::Finding;

/// G108: a namespace is made if the policy says so, and has to be there if not.
pub(super) fn missing(site: &Site<'_>) -> Vec<Finding> {
    let facts = &site.cluster.facts;
    if facts.namespaces.is_empty() || facts.namespaces.len() >= NAMESPACES_MAX {
        return Vec::new();
    }
    let made: BTreeSet<&str> = site.scene.of("", "Namespace").map(|subject| &*subject.name.name).collect();
    let mut seen = BTreeSet::new();
    let mut findings = Vec::new();
    for subject in site.scene.objects {
        let name = subject.name.namespace.as_str();
        if name.is_empty() || made.contains(name) || !seen.insert(name) || facts.namespace(name).is_some() {
            continue;
        }
        findings.push(if site.spec.policies.create_namespace {
            Finding::new(
                "G108",
                crate::Severity::Note,
                format!("Namespace {name:?} is not there yet; it is made."),
                "Nothing needs to be done.",
            )
        } else {
            Finding::error(
                "G108",
                format!("Namespace {name:?} does not exist, and this workload does not make it."),
                "Turn on \"make the namespace if it is missing\", or create it first.",
            )
        });
    }
    findings
}
