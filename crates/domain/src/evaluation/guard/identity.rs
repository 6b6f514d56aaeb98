//! Names and namespaces of objects (G101, G107, G110).

use std::collections::HashMap;

use super::rule_context::{RuleContext, RuleObject, quote};
use crate::kubernetes::name;
use crate::text::finding::Finding;
use crate::text::manifest;
use crate::text::name_check;

/// G101: names of objects. RBAC objects are not checked, because their names may contain almost any character.
pub(super) fn names(context: &RuleContext<'_>) -> Vec<Finding> {
    let checked = context.objects.iter().filter(|object| object.name.group != "rbac.authorization.k8s.io");
    checked.filter_map(invalid_name).collect()
}

fn invalid_name(object: &RuleObject<'_>) -> Option<Finding> {
    let name = object.name.name.as_str();
    let label = matches!(object.name.kind.as_str(), "Service" | "Namespace") && object.name.group.is_empty();
    if if label { name::is_label(name) } else { name::is_subdomain(name) } {
        return None;
    }
    let rule = if label {
        "lower-case letters, digits and \"-\", at most 63 characters"
    } else {
        "lower-case letters, digits, \"-\" and \".\", at most 253 characters"
    };
    let hint = name::suggest_label(name)
        .map_or("Choose a short name.".to_owned(), |better| format!("Try {better:?}."));
    let message = format!(
        "{} has an invalid name: use {rule}, with a letter or digit at both ends.",
        quote(&object.display_name)
    );
    Some(object.error(name_check::INVALID_NAME, "/metadata/name", message, &hint))
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
        let found = name_check::check_namespace(object.text(path)).map(|finding| {
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
