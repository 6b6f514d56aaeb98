//! Labels and annotations (G215), and the data of ConfigMaps and Secrets (G403).

use serde_json::Value;

use super::rule_context::{RuleContext, RuleObject, quote};
use crate::kubernetes::field_path::escape_pointer_token;
use crate::kubernetes::labels::{is_label_key, is_label_value};
use crate::text::finding::{Finding, Fix};

/// G215: keys and values of labels and annotations, on the object and on its pod template.
pub(super) fn labels(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for object in context.objects {
        findings.extend(check_metadata(object, "/metadata"));
    }
    for pod in context.pods.iter().filter(|pod| !pod.path.is_empty()) {
        findings.extend(check_metadata(pod.owner, &format!("{}/metadata", pod.path)));
    }
    findings
}

fn check_metadata(object: &RuleObject<'_>, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (what, field) in [("label", "labels"), ("annotation", "annotations")] {
        let path = format!("{at}/{field}");
        for (key, value) in object.get(&path).and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}/{}", escape_pointer_token(key));
            if let Some((message, hint)) = invalid_entry(what, key, value) {
                let fix =
                    quote_fix(object, &path, value).filter(|fix| what != "label" || is_label_value_fix(fix));
                findings.push(object.error("G215", &path, message, hint).with_fix(fix));
            }
        }
    }
    findings
}

/// The fix that puts a number or a Boolean in quotes.
pub(super) fn quote_fix(object: &RuleObject<'_>, path: &str, value: &Value) -> Option<Fix> {
    let is_scalar = value.is_number() || value.is_boolean();
    object.manifest.quoting_edit(path).filter(|_| is_scalar).map(Fix::replacement)
}

fn is_label_value_fix(fix: &Fix) -> bool {
    fix.edits.iter().all(|edit| is_label_value(&edit.old))
}

fn invalid_entry(what: &str, key: &str, value: &Value) -> Option<(String, &'static str)> {
    // The prefix of an annotation may contain upper-case letters.
    let valid = if what == "label" { is_label_key(key) } else { is_label_key(&key.to_ascii_lowercase()) };
    let shown = quote(key);
    if !valid {
        let message = format!(
            "{shown} is not a {what} key: an optional prefix such as \"example.com/\", then at most 63 letters, digits, \"-\", \"_\" and \".\"."
        );
        return Some((message, "Start and end it with a letter or digit."));
    }
    let Some(text) = value.as_str() else {
        let message = format!(
            "The value of {what} {shown} is not text; Kubernetes rejects numbers, booleans and null."
        );
        return Some((message, "Put the value in quotes."));
    };
    (what == "label" && !is_label_value(text)).then(|| {
        let message = format!(
            "{} is not a value for label {shown}: at most 63 letters, digits, \"-\", \"_\" and \".\".",
            quote(text)
        );
        (message, "Start and end it with a letter or digit, or use an annotation for free text.")
    })
}

/// G403: the data of ConfigMaps and Secrets is text.
pub(super) fn data(context: &RuleContext<'_>) -> Vec<Finding> {
    context.objects.iter().flat_map(check_data).collect()
}

fn check_data(object: &RuleObject<'_>) -> Vec<Finding> {
    if !object.is_kind("", "ConfigMap") && !object.is_kind("", "Secret") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for field in ["/data", "/stringData"] {
        for (key, value) in object.get(field).and_then(Value::as_object).into_iter().flatten() {
            if value.is_string() || value.is_null() {
                continue;
            }
            let path = format!("{field}/{}", escape_pointer_token(key));
            let message = format!(
                "The value of {} in {} is not text; Kubernetes rejects it.",
                quote(key),
                object.display_name
            );
            // A fix contains the value, and everybody who reads the workload reads the finding.
            let fix = if object.is_kind("", "Secret") { None } else { quote_fix(object, &path, value) };
            findings.push(object.error("G403", &path, message, "Put the value in quotes.").with_fix(fix));
        }
    }
    findings
}
