//! Probes of containers (G216).

use serde_json::Value;

use super::ports::is_port;
use super::rule_context::{Container, PodTemplate, RuleContext, integer, items, quote};
use crate::text::finding::Finding;

/// G216: probes that can't succeed, and containers with ports but without a readiness probe.
pub(super) fn probes(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        for kind in ["readinessProbe", "livenessProbe", "startupProbe"] {
            if let Some(probe) = container.value.get(kind).filter(|probe| probe.is_object()) {
                let found = invalid_probe(pod, container, (kind, probe));
                findings.extend(found.or_else(|| invalid_probe_port(pod, container, (kind, probe))));
            }
        }
        findings.extend(early_liveness_probe(pod, container));
        let batch = pod.owner.name.group == "batch" || pod.owner.is_kind("", "Pod");
        let listens = !items(container.value.get("ports")).is_empty();
        if listens && !container.is_init && !batch && container.value["readinessProbe"].is_null() {
            let message = format!(
                "Container {} has no readiness probe, so a service sends traffic before it is ready.",
                quote(container.name)
            );
            let hint = "Add a readinessProbe, such as httpGet on the port it serves.";
            findings.push(pod.owner.note("G216", &container.path, message, hint));
        }
    }
    findings
}

fn invalid_probe(pod: &PodTemplate<'_>, container: &Container<'_>, probe: (&str, &Value)) -> Option<Finding> {
    let (kind, probe) = probe;
    let path = format!("{}/{kind}", container.path);
    let handlers =
        ["exec", "grpc", "httpGet", "tcpSocket"].iter().filter(|handler| !probe[**handler].is_null()).count();
    let name = quote(container.name);
    if handlers != 1 {
        let how_many = if handlers == 0 { "no handler" } else { "more than one handler" };
        let message = format!("The {kind} of container {name} has {how_many}; Kubernetes rejects it.");
        let hint = "Keep exactly one of httpGet, tcpSocket, exec and grpc.";
        return Some(pod.owner.error("G216", &path, message, hint));
    }
    if kind != "readinessProbe"
        && integer(probe.get("successThreshold")).is_some_and(|threshold| threshold != 1)
    {
        let message = format!(
            "The {kind} of container {name} has a successThreshold other than 1; Kubernetes rejects it."
        );
        return Some(pod.owner.error("G216", &format!("{path}/successThreshold"), message, "Leave it out."));
    }
    let timeout = integer(probe.get("timeoutSeconds")).unwrap_or(1);
    let period = integer(probe.get("periodSeconds")).unwrap_or(10);
    (timeout > period).then(|| {
        let message = format!(
            "The {kind} of container {name} has a timeout of {timeout} s, longer than its period of {period} s."
        );
        pod.owner.note(
            "G216",
            &format!("{path}/timeoutSeconds"),
            message,
            "Set timeoutSeconds to at most periodSeconds.",
        )
    })
}

/// A probe of an invalid port, or of a port that the container does not declare. A container may listen on ports that
/// it does not declare, so another number than the declared ones is only a note.
fn invalid_probe_port(
    pod: &PodTemplate<'_>,
    container: &Container<'_>,
    probe: (&str, &Value),
) -> Option<Finding> {
    let (kind, probe) = probe;
    let handler = ["httpGet", "tcpSocket", "grpc"].into_iter().find(|handler| !probe[*handler].is_null())?;
    let port = &probe[handler]["port"];
    let path = || format!("{}/{kind}/{handler}/port", container.path);
    let name = quote(container.name);
    let declared = items(container.value.get("ports"));
    let hint = "Probe a port that the container listens on.";
    match port {
        Value::String(port_name) if !declared.iter().any(|port| port["name"] == port_name.as_str()) => {
            let message = format!(
                "The {kind} of container {name} uses port {}, but no port of the container has that name, so it never \
                 succeeds.",
                quote(port_name)
            );
            Some(pod.owner.warning("G216", &path(), message, hint))
        }
        Value::String(_) => None,
        number if !number.as_i64().is_some_and(is_port) => {
            let message =
                format!("The {kind} of container {name} has no port from 1 to 65535; Kubernetes rejects it.");
            Some(pod.owner.error("G216", &path(), message, hint))
        }
        number if !declared.is_empty() && !declared.iter().any(|port| port["containerPort"] == *number) => {
            let message = format!(
                "The {kind} of container {name} uses port {number}, which the container does not declare."
            );
            Some(pod.owner.note("G216", &path(), message, hint))
        }
        _ => None,
    }
}

/// A liveness probe equal to the readiness probe and without delay: a container that starts slowly is killed.
fn early_liveness_probe(pod: &PodTemplate<'_>, container: &Container<'_>) -> Option<Finding> {
    let liveness = container.value.get("livenessProbe").filter(|probe| probe.is_object())?;
    let has_delay = integer(liveness.get("initialDelaySeconds")).unwrap_or(0) > 0;
    let has_startup_probe = !container.value["startupProbe"].is_null();
    (*liveness == container.value["readinessProbe"] && !has_delay && !has_startup_probe).then(|| {
        let message = format!(
            "The livenessProbe of container {} equals its readinessProbe and has no delay, so a slow start causes restarts.",
            quote(container.name)
        );
        let hint = "Add a startupProbe, or set initialDelaySeconds or a higher failureThreshold on the livenessProbe.";
        pod.owner.note("G216", &format!("{}/livenessProbe", container.path), message, hint)
    })
}
