//! Containers: names and environment (G206, G217).

use std::collections::HashSet;

use serde_json::Value;

use super::labels::quote_fix;
use super::rule_context::{Container, PodTemplate, RuleContext, items, quote};
use crate::kubernetes::name;
use crate::text::finding::Finding;

/// G206: a pod has containers, and their names are unique RFC 1123 labels.
pub(super) fn names(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in &context.pods {
        if items(pod.spec.get("containers")).is_empty() {
            let message = "The pod has no containers, so there is nothing to run.".to_owned();
            let hint = "Add one under containers, with a name and an image.";
            findings.push(pod.owner.error("G206", &pod.spec_pointer("/containers"), message, hint));
        }
        if !items(pod.spec.get("ephemeralContainers")).is_empty() {
            let message =
                "ephemeralContainers can't be part of a manifest; Kubernetes rejects it.".to_owned();
            let hint = "Leave them out; \"kubectl debug\" adds one to a running pod.";
            findings.push(pod.owner.error("G206", &pod.spec_pointer("/ephemeralContainers"), message, hint));
        }
        let mut names = HashSet::new();
        for container in &pod.containers {
            findings.extend(invalid_name(pod, container, !names.insert(container.name)));
        }
    }
    findings
}

fn invalid_name(pod: &PodTemplate<'_>, container: &Container<'_>, is_duplicate: bool) -> Option<Finding> {
    let path = format!("{}/name", container.path);
    let name = quote(container.name);
    let (message, hint) = if container.name.is_empty() {
        ("A container has no name; overrides, logs and events can't identify it.".to_owned(), "Add a name.")
    } else if !name::is_label(container.name) {
        let rule = "use lower-case letters, digits and \"-\", at most 63 characters";
        (format!("Container name {name} is not valid: {rule}."), "Rename it.")
    } else if is_duplicate {
        (format!("Two containers are named {name}; Kubernetes rejects the pod."), "Rename one of them.")
    } else {
        return None;
    };
    Some(pod.owner.error("G206", &path, message, hint))
}

/// G217: variables have valid names, text values, one source each, and are unique.
pub(super) fn environment(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        let mut names = HashSet::new();
        for (at, variable) in items(container.value.get("env")).iter().enumerate() {
            let name = variable["name"].as_str().unwrap_or_default();
            let path = format!("{}/env/{at}", container.path);
            if let Some((message, hint)) = invalid_variable(variable, name, !names.insert(name)) {
                let message = format!("Container {}: {message}", quote(container.name));
                let fix = quote_fix(pod.owner, &format!("{path}/value"), &variable["value"]);
                findings.push(pod.owner.error("G217", &path, message, hint).with_fix(fix));
            }
        }
    }
    findings
}

fn invalid_variable(variable: &Value, name: &str, is_duplicate: bool) -> Option<(String, &'static str)> {
    let shown = quote(name);
    let value = &variable["value"];
    if name.is_empty() || name.contains('=') || name.chars().any(char::is_control) {
        return Some((format!("{shown} is not a valid variable name."), "Use letters, digits and \"_\"."));
    }
    if !value.is_null() && !value.is_string() {
        let message =
            format!("the value of {shown} is not text; Kubernetes rejects numbers and booleans there.");
        return Some((message, "Put the value in quotes."));
    }
    if !value.is_null() && value != "" && !variable["valueFrom"].is_null() {
        return Some((
            format!("{shown} has both value and valueFrom; Kubernetes rejects it."),
            "Keep one of them.",
        ));
    }
    if let Some(from) = variable["valueFrom"].as_object() {
        let sources = from.values().filter(|source| !source.is_null()).count();
        if sources != 1 {
            let how = if sources == 0 { "no source" } else { "more than one source" };
            let message = format!("the valueFrom of {shown} has {how}; Kubernetes rejects it.");
            return Some((message, "Keep exactly one, such as secretKeyRef."));
        }
    }
    is_duplicate.then(|| {
        let message = format!("{shown} is set twice; server-side apply rejects a list with a duplicate key.");
        (message, "Keep one of them.")
    })
}
