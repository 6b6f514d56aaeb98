//! Names and namespaces of objects (G101, G107, G110).

use std::collections::HashMap;

use super::scene::{Scene, Subject, quoted};
use crate::finding::Finding;
use crate::{manifest, name};

/// G101: names of objects. Those of RBAC may hold nearly anything and are left alone.
pub(super) fn names(scene: &Scene<'_>) -> Vec<Finding> {
    let checked = scene.objects.iter().filter(|subject| subject.name.group != "rbac.authorization.k8s.io");
    checked.filter_map(object_name).collect()
}

fn object_name(subject: &Subject<'_>) -> Option<Finding> {
    let name = subject.name.name.as_str();
    let label =
        matches!(subject.name.kind.as_str(), "Service" | "Namespace") && subject.name.group.is_empty();
    if if label { name::is_label(name) } else { name::is_subdomain(name) } {
        return None;
    }
    let rule = if label {
        "lower-case letters, digits and \"-\", at most 63 characters"
    } else {
        "lower-case letters, digits, \"-\" and \".\", at most 253 characters"
    };
    let hint =
        name::suggest(name).map_or("Choose a short name.".to_owned(), |better| format!("Try {better:?}."));
    let message = format!(
        "{} has a name that Kubernetes refuses: {rule}, a letter or digit at both ends.",
        quoted(&subject.shown)
    );
    Some(subject.error("G101", "/metadata/name", message, &hint))
}

/// G107: namespaces that objects name themselves, and namespaces that are made.
pub(super) fn namespaces(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in scene.objects {
        let made = subject.is("", "Namespace");
        let path = if made { "/metadata/name" } else { "/metadata/namespace" };
        if !made && (subject.name.namespace.is_empty() || subject.text(path).is_empty()) {
            continue;
        }
        let found = name::check_namespace(subject.text(path)).map(|finding| {
            finding.about(subject.shown.as_str()).at(path).placed(Some(subject.manifest.place_of(path)))
        });
        findings.extend(found);
    }
    findings
}

/// G110: objects that become the same once the workload's namespace is filled in. Reading finds those written the same.
pub(super) fn twice_after_namespacing(scene: &Scene<'_>) -> Vec<Finding> {
    let mut first_of: HashMap<_, &Subject<'_>> = HashMap::new();
    let mut findings = Vec::new();
    for subject in scene.objects {
        let name = &subject.name;
        let first =
            *first_of.entry((&name.group, &name.kind, &name.namespace, &name.name)).or_insert(subject);
        if first.manifest.object_ref().namespace != subject.manifest.object_ref().namespace {
            findings.push(manifest::twice(&subject.shown, first.manifest, subject.manifest));
        }
    }
    findings
}
