//! Changes of labels in the syntax of `kubectl`: `key=value` sets, `key-` removes.

use std::collections::BTreeMap;

use domain::labels::{is_label_key, is_label_value};

use crate::failure::Failure;

/// The changes by key; `None` removes the label.
///
/// # Errors
/// A text is no change of a label.
pub fn parse_label_changes(texts: &[String]) -> Result<BTreeMap<String, Option<String>>, Failure> {
    texts.iter().map(|text| parse_label_change(text)).collect()
}

fn parse_label_change(text: &str) -> Result<(String, Option<String>), Failure> {
    let (key, value) = match (text.split_once('='), text.strip_suffix('-')) {
        (Some((key, value)), _) => (key, Some(value)),
        (None, Some(key)) => (key, None),
        (None, None) => return Err(invalid_label_change(text)),
    };
    if !is_label_key(key) || value.is_some_and(|value| !is_label_value(value)) {
        return Err(invalid_label_change(text));
    }
    Ok((key.to_owned(), value.map(str::to_owned)))
}

fn invalid_label_change(text: &str) -> Failure {
    let shown: String = text.chars().take(120).collect();
    Failure::usage(
        format!("{shown:?} is not a label change."),
        "Write key=value to set one and key- to remove one; letters, digits, \"-\", \"_\" and \".\", at most 63.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_set_and_removed_in_the_syntax_of_kubectl() {
        assert_eq!(parse_label_change("env=prod").ok().unwrap(), ("env".into(), Some("prod".into())));
        assert_eq!(parse_label_change("env=").ok().unwrap(), ("env".into(), Some(String::new())));
        assert_eq!(parse_label_change("example.com/tier-").ok().unwrap(), ("example.com/tier".into(), None));
        for wrong in ["env", "=x", "-", "a b=c", "env=a b"] {
            assert!(parse_label_change(wrong).is_err(), "{wrong}");
        }
    }
}
