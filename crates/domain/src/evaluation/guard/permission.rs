//! Kinds that a cluster's agent has no permission to write (G410).

use std::collections::BTreeSet;

use super::cluster_context::ClusterContext;
use super::rule_context::quote;
use crate::model::cluster::facts::{MAX_NAMESPACES, qualified_kind};
use crate::model::cluster::{ApiResource, ClusterFacts};
use crate::text::finding::Finding;

/// G410: missing permissions of the agent; one finding per kind and namespace.
pub(super) fn denied(context: &ClusterContext<'_>) -> Vec<Finding> {
    let facts = &context.cluster.facts;
    // The executor (impersonated service account) has its own permissions, which are not known.
    if !facts.permissions_known || context.spec.policies.executor().is_some() {
        return Vec::new();
    }
    let denied: Vec<&ApiResource> = facts.apis.iter().filter(|api| api.denied).collect();
    if denied.is_empty() {
        return Vec::new();
    }
    let mut reported = BTreeSet::new();
    let mut findings = Vec::new();
    for object in context.rule_context.objects {
        let name = &object.name;
        let same_kind = |api: &&&ApiResource| (&api.group, &api.kind) == (&name.group, &name.kind);
        let Some(api) = denied.iter().find(same_kind) else { continue };
        if can_write(facts, api, &name.namespace) != Some(false)
            || !reported.insert((&name.group, &name.kind, &name.namespace))
        {
            continue;
        }
        let place = match &*name.namespace {
            "" => String::new(),
            namespace => format!(" in namespace {}", quote(namespace)),
        };
        let message = format!(
            "The agent has no permission to write {} objects{place}: {} would be rejected.",
            name.kind, object.display_name
        );
        let hint = "Grant it to the agent, set the policy executor to a service account that has it, or exclude these clusters.";
        findings.push(object.warning("G410", "/kind", message, hint));
    }
    findings
}

/// Whether a kind that is denied in some namespace may be written in this one; `None` if that is not known.
fn can_write(facts: &ClusterFacts, api: &ApiResource, namespace: &str) -> Option<bool> {
    if !api.namespaced {
        return Some(false);
    }
    match facts.namespace(namespace) {
        Some(known) => {
            let kind = qualified_kind(&api.group, &api.kind);
            Some(known.granted.as_ref()?.contains(&kind))
        }
        // A namespace that does not exist has no permissions.
        None if !facts.namespaces.is_empty() && facts.namespaces.len() < MAX_NAMESPACES => Some(false),
        None => None,
    }
}
