//! Objects that are defined twice (G110).

use std::collections::HashMap;

use super::Manifest;
use crate::text::finding::{Finding, Fix};
use crate::text::secret_text::contains_secret;

/// Objects with the group, kind, namespace and name of an earlier one.
pub(super) fn check(manifests: &[Manifest]) -> Vec<Finding> {
    let mut first_of: HashMap<_, &Manifest> = HashMap::new();
    let mut findings = Vec::new();
    for manifest in manifests {
        let name = manifest.object_ref();
        let key = (name.group.clone(), name.kind.clone(), name.namespace.clone(), name.name.clone());
        match first_of.get(&key) {
            Some(first) => findings.push(duplicate_finding(&name.to_string(), first, manifest)),
            None => {
                first_of.insert(key, manifest);
            }
        }
    }
    findings
}

/// The finding about two definitions of one object, located at the second.
pub(crate) fn duplicate_finding(name: &str, first: &Manifest, second: &Manifest) -> Finding {
    let at = |manifest: &Manifest| format!("{}:{}", manifest.location.file, manifest.location.line);
    let message =
        format!("{name} is defined twice ({}, {}); one would overwrite the other.", at(first), at(second));
    // The edit has the whole document, and findings are shown to users who may not read a Secret.
    let can_remove = second.has_same_text(first) && !contains_secret(&second.object);
    let removed = if can_remove { second.removal_edit() } else { None };
    let fix =
        removed.map(|edit| Fix::from_edit(format!("Remove the second {name}, which is identical."), edit));
    Finding::error("G110", message, "Keep one of them.")
        .with_object(name)
        .with_location(Some(second.location.clone()))
        .with_fix(fix)
}
