//! Containers: names, probes, environment (G206, G216, G217).

use std::collections::HashSet;

use serde_json::Value;

use super::labels::in_quotes;
use super::scene::{Container, Pod, Scene, integer, items, quoted};
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

/// G216: probes that cannot work, and containers that tell nobody when they are ready.
pub(super) fn probes(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        for kind in ["readinessProbe", "livenessProbe", "startupProbe"] {
            if let Some(probe) = container.value.get(kind).filter(|probe| probe.is_object()) {
                findings.extend(broken_probe(pod, container, (kind, probe)));
            }
        }
        let batch = pod.owner.name.group == "batch" || pod.owner.is("", "Pod");
        let listens = !items(container.value.get("ports")).is_empty();
        if listens && !container.init && !batch && container.value["readinessProbe"].is_null() {
            let message = format!(
                "Container {} has no readiness probe, so a service sends traffic before it is ready.",
                quoted(container.name)
            );
            let hint = "Add a readinessProbe, such as httpGet on the port it serves.";
            findings.push(pod.owner.note("G216", &container.path, message, hint));
        }
    }
    findings
}

fn broken_probe(pod: &Pod<'_>, container: &Container<'_>, probe: (&str, &Value)) -> Option<Finding> {
    let (kind, probe) = probe;
    let path = format!("{}/{kind}", container.path);
    let handlers =
        ["exec", "grpc", "httpGet", "tcpSocket"].iter().filter(|handler| !probe[**handler].is_null()).count();
    let name = quoted(container.name);
    if handlers != 1 {
        let how_many = if handlers == 0 { "no handler" } else { "more than one handler" };
        let message = format!("The {kind} of container {name} has {how_many}; Kubernetes refuses it.");
        let hint = "Keep exactly one of httpGet, tcpSocket, exec and grpc.";
        return Some(pod.owner.error("G216", &path, message, hint));
    }
    if kind != "readinessProbe"
        && integer(probe.get("successThreshold")).is_some_and(|threshold| threshold != 1)
    {
        let message = format!(
            "The {kind} of container {name} has a successThreshold other than 1; Kubernetes refuses it."
        );
        return Some(pod.owner.error("G216", &format!("{path}/successThreshold"), message, "Leave it out."));
    }
    let timeout = integer(probe.get("timeoutSeconds")).unwrap_or(1);
    let period = integer(probe.get("periodSeconds")).unwrap_or(10);
    (timeout > period).then(|| {
        let message = format!(
            "The {kind} of container {name} waits {timeout} s for an answer but asks every {period} s."
        );
        pod.owner.note(
            "G216",
            &format!("{path}/timeoutSeconds"),
            message,
            "Make timeoutSeconds at most periodSeconds.",
        )
    })
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
    again.then(|| {
        let message =
            format!("{shown} is set twice; a server-side apply refuses a list with the same key twice.");
        (message, "Keep one of them.")
    })
}
