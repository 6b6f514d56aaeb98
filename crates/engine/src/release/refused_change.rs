//! Changes of custom objects that the server refuses because of what the object is now: a rule of the definition compares both
//! (`oldSelf`), and its message is a text of its own, which only the definition tells from other messages.

use std::collections::HashSet;

use domain::object::is_built_in_group;
use serde_json::Value;

use crate::api::{ApiClient, ServedKind};
use crate::error::Error;

/// The field of a schema with the rules of a value.
const RULES: &str = "x-kubernetes-validations";

/// The error of an object whose new content was rejected as invalid: [`Error::ChangeRefused`] if the server says nothing but what rules
/// of the definition say that compare an object with what it was. `api` is that of the agent itself, which may read definitions; what
/// is not read or not understood leaves the error as it is. Costs one read, and none for kinds of Kubernetes.
pub(crate) async fn explain_rejection(api: &ApiClient, resource: &ServedKind, error: Error) -> Error {
    let Error::Invalid(message) = error else { return error };
    if is_built_in_group(&resource.group) {
        return Error::Invalid(message);
    }
    let kind = "CustomResourceDefinition";
    let definitions = ServedKind::new("apiextensions.k8s.io", "v1", kind, "customresourcedefinitions", false);
    let name = format!("{}.{}", resource.plural, resource.group);
    match api.get(&definitions.object_path("", &name)).await {
        Ok(definition) if says_only(&message, &change_messages(&definition, &resource.version)) => {
            Error::ChangeRefused(message)
        }
        _ => Error::Invalid(message),
    }
}

/// What the rules say that compare an object of this version with what it was, without what other rules say too.
fn change_messages(definition: &Value, version: &str) -> HashSet<String> {
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let mut rules = Vec::new();
    for served in versions.into_iter().flatten().filter(|served| served["name"] == version) {
        collect_rules(&served["schema"], &mut rules);
    }
    let (changes, others): (Vec<&Value>, Vec<&Value>) =
        rules.into_iter().partition(|rule| is_of_changes(rule));
    let others: HashSet<String> = others.into_iter().map(rule_message).collect();
    changes.into_iter().map(rule_message).filter(|message| !others.contains(message)).collect()
}

fn collect_rules<'a>(schema: &'a Value, rules: &mut Vec<&'a Value>) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value.as_array() {
                    Some(found) if name == RULES => rules.extend(found),
                    _ => collect_rules(value, rules),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_rules(item, rules)),
        _ => {}
    }
}

/// Whether a rule is evaluated for changes only. With an optional `oldSelf` it may refuse a new object too.
fn is_of_changes(rule: &Value) -> bool {
    rule["optionalOldSelf"] != true && rule["rule"].as_str().is_some_and(|rule| rule.contains("oldSelf"))
}

/// What the server says when a rule is not met. The result of a `messageExpression` is not known.
fn rule_message(rule: &Value) -> String {
    match rule["message"].as_str().map(str::trim) {
        Some(message) if !message.is_empty() => message.to_owned(),
        _ => format!("failed rule: {}", rule["rule"].as_str().unwrap_or_default().trim()),
    }
}

/// Whether each cause in the message of a rejection ends with one of these texts: `… is invalid: FIELD: Invalid value: "TYPE": TEXT`,
/// or several causes in brackets.
fn says_only(message: &str, texts: &HashSet<String>) -> bool {
    let Some((_, causes)) = message.split_once(" is invalid: ") else { return false };
    let list = causes.strip_prefix('[').and_then(|list| list.strip_suffix(']'));
    let mut rest = list.unwrap_or(causes);
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let Some(end) = texts.iter().filter_map(|text| cause_end(rest, text)).max() else { return false };
        rest = rest[end..].strip_prefix(", ").unwrap_or_default();
    }
    true
}

/// The end of the first cause, if it is this text after a field; `None` too if another cause may precede it.
fn cause_end(causes: &str, text: &str) -> Option<usize> {
    let text = format!(": {text}");
    let start = causes.find(&text)?;
    let end = start + text.len();
    let is_whole = end == causes.len() || causes[end..].starts_with(", ");
    (is_whole && !causes[..start].contains(", ")).then_some(end)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A definition with these rules of a field of `v1`, and others of `v2`.
    fn texts(rules: Value) -> HashSet<String> {
        let version = |name: &str, rules: Value| {
            json!({"name": name, "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": {
                "sizes": {"type": "array", "items": {"type": "integer", RULES: rules}}}}}}}})
        };
        let other = json!([{"rule": "self == oldSelf", "message": "of another version"}]);
        let versions = [version("v2", other), version("v1", rules)];
        change_messages(&json!({"spec": {"versions": versions}}), "v1")
    }

    #[test]
    fn rules_that_compare_have_messages_of_their_own() {
        let found = texts(json!([
            {"rule": "self == oldSelf", "message": " chosen once "},
            {"rule": "self >= oldSelf"},
            {"rule": "self > 0", "message": "positive"},
            {"rule": "self != oldSelf", "message": "positive"},
            {"rule": "oldSelf.hasValue() || self > 1", "optionalOldSelf": true, "message": "two at first"},
        ]));
        let expected: HashSet<String> =
            ["chosen once", "failed rule: self >= oldSelf"].map(str::to_owned).into();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_rejection_is_a_refused_change_only_if_rules_that_compare_say_all_of_it() {
        let known: HashSet<String> = ["chosen once", "chosen once, for good", "no"].map(str::to_owned).into();
        let rejection = |causes: &str| format!("Lamp.example.com \"a\" is invalid: {causes}");
        let once = "spec.size: Invalid value: \"integer\": chosen once";
        let good = "spec.at: Forbidden: chosen once, for good";
        for causes in
            [once.to_owned(), good.to_owned(), format!("[{good}, {once}]"), format!("[{once}, {good}]")]
        {
            assert!(says_only(&rejection(&causes), &known), "{causes}");
        }
        for causes in [
            String::new(),
            "[]".to_owned(),
            "spec.size: Required value".to_owned(),
            format!("{once} or twice"),
            format!("[spec.name: Required value, {once}]"),
            format!("[{once}, spec.name: Required value]"),
            format!("[{once}, spec.name: Invalid value: \"integer\": another rule]"),
        ] {
            assert!(!says_only(&rejection(&causes), &known), "{causes}");
        }
        assert!(!says_only("chosen once", &known), "it is no list of causes");
    }
}
