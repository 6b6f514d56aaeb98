//! Labels and annotations (G215), and data that must be text (G403).

use serde_json::Value;

use super::scene::{Scene, Subject, quoted};
use crate::finding::Finding;
use crate::fix::Fix;
use crate::labels::{is_key, is_value};

/// G215: keys and values of labels, keys of annotations, on the object and on its pods.
pub(super) fn labels(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for subject in scene.objects {
        findings.extend(metadata(subject, "/metadata"));
        findings.extend(data(subject));
    }
    for pod in scene.pods.iter().filter(|pod| !pod.path.is_empty()) {
        findings.extend(metadata(pod.owner, &format!("{}/metadata", pod.path)));
    }
    findings
}

fn metadata(subject: &Subject<'_>, at: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (what, field) in [("label", "labels"), ("annotation", "annotations")] {
        let path = format!("{at}/{field}");
        for (key, value) in subject.get(&path).and_then(Value::as_object).into_iter().flatten() {
            let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
            if let Some((message, hint)) = broken(what, key, value) {
                let fix =
                    in_quotes(subject, &path, value).filter(|fix| what != "label" || makes_a_value(fix));
                findings.push(subject.error("G215", &path, message, hint).mended(fix));
            }
        }
    }
    findings
}

/// The fix that makes text of a number or a truth value by putting quotes around it.
pub(super) fn in_quotes(subject: &Subject<'_>, path: &str, value: &Value) -> Option<Fix> {
    let word = value.is_number() || value.is_boolean();
    subject.manifest.quoted(path).filter(|_| word).map(Fix::replace)
}

fn makes_a_value(fix: &Fix) -> bool {
    fix.edits.iter().all(|edit| is_value(&edit.old))
}

fn broken(what: &str, key: &str, value: &Value) -> Option<(String, &'static str)> {
    // The prefix of an annotation may be written in any case.
    let known = if what == "label" { is_key(key) } else { is_key(&key.to_ascii_lowercase()) };
    let shown = quoted(key);
    if !known {
        let message = format!(
            "{shown} is not a {what} key: an optional prefix such as \"example.com/\", then at most 63 letters, digits, \"-\", \"_\" and \".\"."
        );
        return Some((message, "Start and end it with a letter or digit."));
    }
    let Some(text) = value.as_str() else {
        let message = format!(
            "The value of {what} {shown} is not text; Kubernetes refuses numbers, booleans and nothing."
        );
        return Some((message, "Put the value in quotes."));
    };
    (what == "label" && !is_value(text)).then(|| {
        let message = format!(
            "{} is not a value for label {shown}: at most 63 letters, digits, \"-\", \"_\" and \".\".",
            quoted(text)
        );
        (message, "Start and end it with a letter or digit, or use an annotation for free text.")
    })
}

/// G403: the data of ConfigMaps and Secrets is text.
fn data(subject: &Subject<'_>) -> Vec<Finding> {
    if !subject.is("", "ConfigMap") && !subject.is("", "Secret") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for field in ["/data", "/stringData"] {
        for (key, value) in subject.get(field).and_then(Value::as_object).into_iter().flatten() {
            if value.is_string() || value.is_null() {
                continue;
            }
            let path = format!("{field}/{}", key.replace('~', "~0").replace('/', "~1"));
            let message = format!(
                "The value of {} in {} is not text; Kubernetes refuses it.",
                quoted(key),
                subject.shown
            );
            let fix = in_quotes(subject, &path, value);
            findings.push(subject.error("G403", &path, message, "Put the value in quotes.").mended(fix));
        }
    }
    findings
}
