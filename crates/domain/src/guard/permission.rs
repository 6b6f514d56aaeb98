//! Kinds that a cluster's agent may not write (G410).

use std::collections::BTreeSet;

use super::scene::quoted;
use super::site::Site;
use crate::cluster::facts::{NAMESPACES_MAX, kind_name};
use crate::cluster::{ApiResource, ClusterFacts};
use crate::finding::Finding;

/// G410: what the agent was not granted; each kind once in each namespace.
pub(super) fn denied(site: &Site<'_>) -> Vec<Finding> {
    let facts = &site.cluster.facts;
    // Who writes in another's name has that one's rights, which nobody asked for.
    if !facts.rights_known || site.spec.policies.executor().is_some() {
        return Vec::new();
    }
    let denied: Vec<&ApiResource> = facts.apis.iter().filter(|api| api.denied).collect();
    if denied.is_empty() {
        return Vec::new();
    }
    let mut told = BTreeSet::new();
    let mut findings = Vec::new();
    for subject in site.scene.objects {
        let name = &subject.name;
        let same = |api: &&&ApiResource| (&api.group, &api.kind) == (&name.group, &name.kind);
        let Some(api) = denied.iter().find(same) else { continue };
        if may_write(facts, api, &name.namespace) != Some(false)
            || !told.insert((&name.group, &name.kind, &name.namespace))
        {
            continue;
        }
        let place = match &*name.namespace {
            "" => String::new(),
            namespace => format!(" in namespace {}", quoted(namespace)),
        };
        let message = format!(
            "The agent may not write objects of the kind {}{place}: {} would be refused.",
            name.kind, subject.shown
        );
        let hint = "Grant it to the agent, let a service account write that may (policy executor), or leave these clusters out.";
        findings.push(subject.warning("G410", "/kind", message, hint));
    }
    findings
}

/// Whether a kind that is denied somewhere may be written there; `None` when that is not known.
fn may_write(facts: &ClusterFacts, api: &ApiResource, namespace: &str) -> Option<bool> {
    if !api.namespaced {
        return Some(false);
    }
    match facts.namespace(namespace) {
        Some(known) => {
            let wanted = kind_name(&api.group, &api.kind);
            Some(known.granted.as_ref()?.contains(&wanted))
        }
        // Nothing can be granted in one that is not there.
        None if !facts.namespaces.is_empty() && facts.namespaces.len() < NAMESPACES_MAX => Some(false),
        None => None,
    }
}
