//! Checks of roles and their bindings.

use serde_json::Value;

use crate::object::{array_at, str_at, value_at};
use crate::status::StatusCause;

const GROUP: &str = "rbac.authorization.k8s.io";

/// Checks the rules of a role; those of a namespaced one apply to no URLs.
pub(super) fn check_role(object: &Value, is_namespaced: bool, causes: &mut Vec<StatusCause>) {
    for (index, rule) in array_at(object, "rules").iter().enumerate() {
        let path = |field: &str| format!("rules[{index}].{field}");
        let is_empty = |field: &str| array_at(rule, field).is_empty();
        // Absent verbs are reported with the other required fields.
        if value_at(rule, "verbs").is_some() && is_empty("verbs") {
            causes.push(StatusCause::required(path("verbs"), "verbs must contain at least one value"));
        }
        if !is_empty("nonResourceURLs") {
            let urls = &rule["nonResourceURLs"];
            let mut refuse =
                |detail: &str| causes.push(StatusCause::invalid(path("nonResourceURLs"), urls, detail));
            if is_namespaced {
                refuse("namespaced rules cannot apply to non-resource URLs");
            }
            if ["apiGroups", "resources", "resourceNames"].into_iter().any(|field| !is_empty(field)) {
                refuse("rules cannot apply to both regular resources and non-resource URLs");
            }
            continue;
        }
        for (field, what) in [("apiGroups", "api group"), ("resources", "resource")] {
            if is_empty(field) {
                let detail = format!("resource rules must supply at least one {what}");
                causes.push(StatusCause::required(path(field), &detail));
            }
        }
    }
}

/// Checks the role and the subjects of a binding.
pub(super) fn check_binding(object: &Value, is_namespaced: bool, causes: &mut Vec<StatusCause>) {
    let roles: &[&str] = if is_namespaced { &["Role", "ClusterRole"] } else { &["ClusterRole"] };
    for (field, supported) in [("roleRef.apiGroup", &[GROUP][..]), ("roleRef.kind", roles)] {
        if let Some(value) = value_at(object, field)
            && !supported.contains(&str_at(object, field))
        {
            causes.push(StatusCause::unsupported(field, value, supported));
        }
    }
    for (index, subject) in array_at(object, "subjects").iter().enumerate() {
        check_subject(subject, &format!("subjects[{index}]"), is_namespaced, causes);
    }
}

fn check_subject(subject: &Value, path: &str, is_namespaced: bool, causes: &mut Vec<StatusCause>) {
    let group = str_at(subject, "apiGroup");
    let mut check_group = |supported: &str| {
        if group != supported {
            causes.push(StatusCause::unsupported(format!("{path}.apiGroup"), &group.into(), &[supported]));
        }
    };
    match str_at(subject, "kind") {
        "ServiceAccount" => {
            check_group("");
            if !is_namespaced && str_at(subject, "namespace").is_empty() {
                causes.push(StatusCause::required(format!("{path}.namespace"), ""));
            }
        }
        "User" | "Group" => check_group(GROUP),
        other => {
            let kinds = ["ServiceAccount", "User", "Group"];
            causes.push(StatusCause::unsupported(format!("{path}.kind"), &other.into(), &kinds));
        }
    }
}
