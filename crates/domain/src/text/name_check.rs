//! Findings about the names that users enter (G101, G102, G107).

use crate::kubernetes::name::{MAX_LABEL_LENGTH, is_label, suggest_label};
use crate::text::finding::Finding;

/// The code of the findings about names that are not valid.
pub const INVALID_NAME: &str = "G101";

/// G102: another workload, created by `owner`, has the name.
pub fn existing_name_finding(name: &str, project: &str, owner: &str) -> Finding {
    let by = if owner.is_empty() { String::new() } else { format!(", created by {owner}") };
    Finding::error(
        "G102",
        format!("A workload {name:?} already exists in project {project:?}{by}."),
        "Choose another name, or edit that workload.",
    )
}

/// G101: the name of a workload.
pub fn check_workload_name(name: &str) -> Option<Finding> {
    (!is_label(name)).then(|| invalid_label_finding(INVALID_NAME, "Workload name", name))
}

/// G107: a namespace, which must be a label and not reserved for the system.
pub fn check_namespace(namespace: &str) -> Option<Finding> {
    check_object_namespace(namespace, false)
}

/// G107: a namespace that objects are written to, which may be one of the system if the policy of the workload allows it.
pub fn check_object_namespace(namespace: &str, allows_system: bool) -> Option<Finding> {
    if !is_label(namespace) {
        return Some(invalid_label_finding("G107", "Namespace", namespace));
    }
    (namespace.starts_with("kube-") && !allows_system).then(|| {
        Finding::error(
            "G107",
            format!("Namespace {namespace:?} is reserved for Kubernetes itself."),
            "Choose another namespace, or ask an admin to set the policy allowSystemNamespaces of the workload.",
        )
    })
}

/// The name of a cluster, a group or an override: the same rule as a workload's.
pub fn check_label(what: &str, name: &str) -> Option<Finding> {
    (!is_label(name)).then(|| invalid_label_finding(INVALID_NAME, what, name))
}

fn invalid_label_finding(code: &str, what: &str, text: &str) -> Finding {
    let shown: String = text.chars().take(80).collect();
    let hint = match suggest_label(text) {
        Some(better) => format!("Try {better:?}."),
        None => "Choose a short name such as \"web\".".to_owned(),
    };
    Finding::error(
        code,
        format!(
            "{what} {shown:?} is not valid: use lower-case letters, digits and \"-\", start and end with a letter or \
             digit (at most {MAX_LABEL_LENGTH} characters)."
        ),
        hint,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g102_an_existing_name_is_rejected_with_its_owner() {
        let finding = existing_name_finding("helloapp", "shop", "ana");
        assert!(finding.is_blocking() && finding.code == "G102");
        assert_eq!(
            finding.message,
            "A workload \"helloapp\" already exists in project \"shop\", created by ana."
        );
        assert_eq!(finding.hint, "Choose another name, or edit that workload.");
        assert_eq!(
            existing_name_finding("a", "shop", "").message,
            "A workload \"a\" already exists in project \"shop\"."
        );
    }

    #[test]
    fn g101_an_invalid_workload_name_is_rejected_with_a_suggestion() {
        let finding = check_workload_name("Hello_App").unwrap();
        assert_eq!(finding.code, "G101");
        assert_eq!(finding.hint, "Try \"hello-app\".");
        assert!(check_workload_name("hello-app").is_none());
        assert!(check_workload_name(&"a".repeat(64)).is_some());
        assert!(check_workload_name("").is_some());
        assert!(check_workload_name("-x").is_some());
    }

    #[test]
    fn g107_system_namespaces_are_reserved() {
        assert!(check_namespace("kube-system").unwrap().message.contains("reserved"));
        assert!(check_namespace("web").is_none());
    }
}
