//! Probes: what asks a container whether it is well (G216).

use serde_json::Value;

use super::ports::is_port;
use super::scene::{Container, Pod, Scene, integer, items, quoted};
use crate::finding::Finding;

/// G216: probes that cannot work, and containers that tell nobody when they are ready.
pub(super) fn probes(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        for kind in ["readinessProbe", "livenessProbe", "startupProbe"] {
            if let Some(probe) = container.value.get(kind).filter(|probe| probe.is_object()) {
                let found = broken_probe(pod, container, (kind, probe));
                findings.extend(found.or_else(|| unheard(pod, container, (kind, probe))));
            }
        }
        findings.extend(hasty(pod, container));
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

/// A probe of a port that is none, or that nobody listens on. A container need not declare the ports it listens on, so
/// another number than those it declares is only a note.
fn unheard(pod: &Pod<'_>, container: &Container<'_>, probe: (&str, &Value)) -> Option<Finding> {
    let (kind, probe) = probe;
    let handler = ["httpGet", "tcpSocket", "grpc"].into_iter().find(|handler| !probe[*handler].is_null())?;
    let port = &probe[handler]["port"];
    let path = || format!("{}/{kind}/{handler}/port", container.path);
    let name = quoted(container.name);
    let declared = items(container.value.get("ports"));
    let hint = "Probe a port that the container listens on.";
    match port {
        Value::String(wanted) if !declared.iter().any(|port| port["name"] == wanted.as_str()) => {
            let message = format!(
                "The {kind} of container {name} asks at port {}, and no port of it has that name: it never succeeds.",
                quoted(wanted)
            );
            Some(pod.owner.warning("G216", &path(), message, hint))
        }
        Value::String(_) => None,
        number if !number.as_i64().is_some_and(is_port) => {
            let message =
                format!("The {kind} of container {name} has no port from 1 to 65535; Kubernetes refuses it.");
            Some(pod.owner.error("G216", &path(), message, hint))
        }
        number if !declared.is_empty() && !declared.iter().any(|port| port["containerPort"] == *number) => {
            let message = format!(
                "The {kind} of container {name} asks at port {number}, which the container does not declare."
            );
            Some(pod.owner.note("G216", &path(), message, hint))
        }
        _ => None,
    }
}

/// A liveness probe that asks the same as the readiness probe, and as early: what is only slow to start is killed.
fn hasty(pod: &Pod<'_>, container: &Container<'_>) -> Option<Finding> {
    let liveness = container.value.get("livenessProbe").filter(|probe| probe.is_object())?;
    let waits = integer(liveness.get("initialDelaySeconds")).unwrap_or(0) > 0;
    let starts = !container.value["startupProbe"].is_null();
    (*liveness == container.value["readinessProbe"] && !waits && !starts).then(|| {
        let message = format!(
            "The livenessProbe of container {} asks the same as its readinessProbe from the first second on: a slow start ends in restarts.",
            quoted(container.name)
        );
        let hint = "Add a startupProbe, or give the livenessProbe an initialDelaySeconds or more failures.";
        pod.owner.note("G216", &format!("{}/livenessProbe", container.path), message, hint)
    })
}
