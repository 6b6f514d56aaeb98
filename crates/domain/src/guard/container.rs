//! Containers: names and environment (G206, G217).

use std::collections::HashSet;

use serde_json::Value;

use super::labels::in_quotes;
use super::scene::{Container, Pod, Scene, items, quoted};
use crate::finding::Finding;
use crate::name;

/// G206: a pod has containers, and their names are labels and differ.
pub(super) fn names(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in &scene.pods {
        if items(pod.spec.get("containers")).is_empty() {
            let message = "The pod has no containers, so there is nothing to run.".to_owned();
            let hint = "Add one under containers, with a name and an image.";
            findings.push(pod.owner.error("G206", &pod.at("/containers"), message, hint));
        }
        if !items(pod.spec.get("ephemeralContainers")).is_empty() {
            let message =
                "ephemeralContainers can't be part of a manifest; Kubernetes refuses it.".to_owned();
            let hint = "Leave them out; \"kubectl debug\" adds one to a pod that runs.";
            findings.push(pod.owner.error("G206", &pod.at("/ephemeralContainers"), message, hint));
        }
        let mut seen = HashSet::new();
        for container in &pod.containers {
            findings.extend(container_name(pod, container, !seen.insert(container.name)));
        }
    }
    findings
}

fn container_name(pod: &Pod<'_>, container: &Container<'_>, again: bool) -> Option<Finding> {
    let path = format!("{}/name", container.path);
    let name = quoted(container.name);
    let (message, hint) = if container.name.is_empty() {
        (
            "A container has no name; overrides, logs and events could not tell it from others.".to_owned(),
            "Add a name.",
        )
    } else if !name::is_label(container.name) {
        let rule = "use lower-case letters, digits and \"-\", at most 63 characters";
        (format!("Container name {name} is not valid: {rule}."), "Rename it.")
    } else if again {
        (format!("Two containers are named {name}; Kubernetes refuses the pod."), "Rename one of them.")
    } else {
        return None;
    };
    Some(pod.owner.error("G206", &path, message, hint))
}

/// G217: variables have names, text for values, one source each, and stand once.
pub(super) fn environment(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        let mut seen = HashSet::new();
        for (at, variable) in items(container.value.get("env")).iter().enumerate() {
            let name = variable["name"].as_str().unwrap_or_default();
            let path = format!("{}/env/{at}", container.path);
            if let Some((message, hint)) = broken_variable(variable, name, !seen.insert(name)) {
                let message = format!("Container {}: {message}", quoted(container.name));
                let fix = in_quotes(pod.owner, &format!("{path}/value"), &variable["value"]);
                findings.push(pod.owner.error("G217", &path, message, hint).mended(fix));
            }
        }
    }
    findings
}

fn broken_variable(variable: &Value, name: &str, again: bool) -> Option<(String, &'static str)> {
    let shown = quoted(name);
    let value = &variable["value"];
    if name.is_empty() || name.contains('=') || name.chars().any(char::is_control) {
        return Some((format!("{shown} is no name for a variable."), "Use letters, digits and \"_\"."));
    }
    if !value.is_null() && !value.is_string() {
        let message =
            format!("the value of {shown} is not text; Kubernetes refuses numbers and booleans there.");
        return Some((message, "Put the value in quotes."));
    }
    if !value.is_null() && value != "" && !variable["valueFrom"].is_null() {
        return Some((
            format!("{shown} has both value and valueFrom; Kubernetes refuses it."),
            "Keep one of them.",
        ));
    }
    if let Some(from) = variable["valueFrom"].as_object() {
        let sources = from.values().filter(|source| !source.is_null()).count();
        if sources != 1 {
            let how = if sources == 0 { "no source" } else { "more than one source" };
            let message = format!("the valueFrom of {shown} has {how}; Kubernetes refuses it.");
            return Some((message, "Keep exactly one, such as secretKeyRef."));
        }
    }
    again.then(|| {
        let message =
            format!("{shown} is set twice; a server-side apply refuses a list with the same key twice.");
        (message, "Keep one of them.")
    })
}
