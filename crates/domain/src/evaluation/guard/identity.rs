//! Names and namespaces of objects (G101, G107, G110).

use std::collections::HashMap;

use super::rule_context::{RuleContext, RuleObject, quote};
use crate::text::finding::Finding;
use crate::text::manifest;
use crate::text::{name_check, object_name};

/// G101: names of objects.
pub(super) fn names(context: &RuleContext<'_>) -> Vec<Finding> {
    context.objects.iter().filter_map(invalid_name).collect()
}

fn invalid_name(object: &RuleObject<'_>) -> Option<Finding> {
    let problem = object_name::find_problem(&object.name, &object.manifest.object)?;
    // The length of a name is known only with the values of a cluster; rendering checks it.
    if problem.is_length && object.manifest.is_filled("/metadata/name", &object.name.name) {
        return None;
    }
    let message = format!("{} {}.", quote(&object.display_name), problem.message);
    Some(object.error(name_check::INVALID_NAME, "/metadata/name", message, &problem.hint))
}

/// G107: namespaces that objects set themselves, and Namespace objects of the workload.
pub(super) fn namespaces(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for object in context.objects {
        let is_namespace = object.is_kind("", "Namespace");
        let path = if is_namespace { "/metadata/name" } else { "/metadata/namespace" };
        if !is_namespace && (object.name.namespace.is_empty() || object.text(path).is_empty()) {
            continue;
        }
        let allows_system = context.spec.policies.allow_system_namespaces;
        let found = name_check::check_object_namespace(object.text(path), allows_system).map(|finding| {
            finding
                .with_object(object.display_name.as_str())
                .with_path(path)
                .with_location(Some(object.manifest.location_of(path)))
        });
        findings.extend(found);
    }
    findings
}

/// G110: objects that are identical after the workload's namespace is set. The parser finds those that are written
/// identically.
pub(super) fn duplicates_after_namespacing(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut first_of: HashMap<_, &RuleObject<'_>> = HashMap::new();
    let mut findings = Vec::new();
    for object in context.objects {
        let name = &object.name;
        let first = *first_of.entry((&name.group, &name.kind, &name.namespace, &name.name)).or_insert(object);
        if first.manifest.object_ref().namespace != object.manifest.object_ref().namespace {
            findings.push(manifest::duplicate_finding(&object.display_name, first.manifest, object.manifest));
        }
    }
    findings
}
