//! Kubernetes names (RFC 1123).

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
    text.len() <= MAX_SUBDOMAIN_LENGTH && is_subdomain_shape(text)
}

/// Whether `text` has the characters of an RFC 1123 subdomain, whatever its length.
pub fn is_subdomain_shape(text: &str) -> bool {
    text.split('.').all(|part| !part.is_empty() && is_label_shape(part))
}

fn is_label_shape(text: &str) -> bool {
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let bytes = text.as_bytes();
    edge(bytes.first().copied())
        && edge(bytes.last().copied())
        && bytes.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || *b == b'-')
}

/// The nearest valid label: lower case, anything else becomes `-`, trimmed and cut. `None` if nothing is left.
pub fn suggest_label(text: &str) -> Option<String> {
    suggest_short_label(text, MAX_LABEL_LENGTH)
}

/// Like [`suggest_label`], with at most `max` characters.
pub fn suggest_short_label(text: &str, max: usize) -> Option<String> {
    let mut name = String::new();
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => name.push(c),
            _ if !name.is_empty() && !name.ends_with('-') => name.push('-'),
            _ => {}
        }
    }
    name.truncate(max.min(MAX_LABEL_LENGTH));
    let name = name.trim_matches('-').to_owned();
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subdomains_are_labels_joined_by_dots() {
        assert!(is_subdomain("a.b-c.d1"));
        assert!(!is_subdomain("a..b"));
        assert!(!is_subdomain("A.b"));
    }

    #[test]
    fn a_suggestion_is_cut_without_a_dash_at_its_end() {
        assert_eq!(suggest_short_label("Web_App.v2", 10).as_deref(), Some("web-app-v2"));
        assert_eq!(suggest_short_label("web-app-v2", 8).as_deref(), Some("web-app"));
        assert_eq!(suggest_label(&"a".repeat(64)), Some("a".repeat(63)));
        assert_eq!(suggest_label("/"), None);
    }
}
