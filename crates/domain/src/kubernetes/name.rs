//! Kubernetes names (RFC 1123), and the findings about invalid ones (G101, G102, G107).

use crate::text::finding::Finding;

/// The code of the findings about names that are not valid.
pub const INVALID_NAME: &str = "G101";
/// Longest RFC 1123 label, in characters.
pub const MAX_LABEL_LENGTH: usize = 63;
/// Longest RFC 1123 subdomain, in characters.
pub const MAX_SUBDOMAIN_LENGTH: usize = 253;

/// Whether `text` is an RFC 1123 label: lower-case letters, digits and `-`, a letter or digit at both ends, ≤ 63.
pub fn is_label(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_LABEL_LENGTH && is_label_shape(text)
}

/// Whether `text` is an RFC 1123 subdomain: labels joined by dots, ≤ 253 in all.
pub fn is_subdomain(text: &str) -> bool {
    text.len() <= MAX_SUBDOMAIN_LENGTH && text.split('.').all(|part| !part.is_empty() && is_label_shape(part))
}

fn is_label_shape(text: &str) -> bool {
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.as_bytes();
    edge(bytes.first().copied())
        && edge(bytes.last().copied())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// G102: another workload, created by `owner`, has the name.
pub fn existing_name_finding(name: &str, project: &str, owner: &str) -> Finding {
    let by = if owner.is_empty() { String::new() } else { format!(", created by {owner}") };
    Finding::error(
        "G102",
        format!("A workload {name:?} already exists in project {project:?}{by}."),
        "Choose another name, or edit that workload.",
    )
}

/// The nearest valid label: lower case, anything else becomes `-`, trimmed and cut. `None` if nothing is left.
pub fn suggest_label(text: &str) -> Option<String> {
    let mut name = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    name.truncate(MAX_LABEL_LENGTH);
    let name = name.trim_matches('-').to_owned();
    (!name.is_empty()).then_some(name)
}

/// G101: the name of a workload.
pub fn check_workload_name(name: &str) -> Option<Finding> {
    (!is_label(name)).then(|| invalid_label_finding(INVALID_NAME, "Workload name", name))
}

/// G107: a namespace, which must be a label and not reserved for the system.
pub fn check_namespace(namespace: &str) -> Option<Finding> {
    if !is_label(namespace) {
        return Some(invalid_label_finding("G107", "Namespace", namespace));
    }
    namespace.starts_with("kube-").then(|| {
        Finding::error(
            "G107",
            format!("Namespace {namespace:?} is reserved for Kubernetes itself."),
            "Choose another namespace, or ask a platform admin.",
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

    #[test]
    fn subdomains_are_labels_joined_by_dots() {
        assert!(is_subdomain("a.b-c.d1"));
        assert!(!is_subdomain("a..b"));
        assert!(!is_subdomain("A.b"));
    }
}
