//! Ports of containers (G207, G208).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::rule_context::{Container, PodTemplate, RuleContext, integer, items, quote};
use crate::text::finding::Finding;

/// G207: ports are in range, have IANA service names and are unique.
pub(super) fn container_ports(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        let (mut ports, mut names) = (HashSet::new(), HashSet::new());
        for (at, port) in items(container.value.get("ports")).iter().enumerate() {
            let path = format!("{}/ports/{at}", container.path);
            findings.extend(invalid_number(pod, container, (port, &path)));
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            if !ports.insert((integer(port.get("containerPort")), protocol, port["hostIP"].as_str())) {
                let message = format!(
                    "Port {} of container {} is listed twice.",
                    port["containerPort"],
                    quote(container.name)
                );
                findings.push(pod.owner.error("G207", &path, message, "Keep one of them."));
            }
            if let Some(name) = port["name"].as_str() {
                findings.extend(invalid_name(pod, (name, &path), !names.insert(name)));
            }
        }
    }
    findings
}

/// G207: no two containers of a pod declare the same port, because they share one network namespace.
pub(super) fn shared_ports(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in &context.pods {
        let mut first: HashMap<(i64, &str), &str> = HashMap::new();
        for container in pod.containers.iter().filter(|container| !container.is_init) {
            for (at, port) in items(container.value.get("ports")).iter().enumerate() {
                let Some(number) = integer(port.get("containerPort")) else { continue };
                let protocol = port["protocol"].as_str().unwrap_or("TCP");
                let owner = *first.entry((number, protocol)).or_insert(container.name);
                if owner != container.name {
                    let message = format!(
                        "Containers {} and {} of one pod both listen on port {number}; the second can't start.",
                        quote(owner),
                        quote(container.name)
                    );
                    let path = format!("{}/ports/{at}/containerPort", container.path);
                    findings.push(pod.owner.warning(
                        "G207",
                        &path,
                        message,
                        "Give each container its own port.",
                    ));
                }
            }
        }
    }
    findings
}

fn invalid_number(pod: &PodTemplate<'_>, container: &Container<'_>, port: (&Value, &str)) -> Option<Finding> {
    let (port, path) = port;
    for field in ["containerPort", "hostPort"] {
        let number = &port[field];
        let unset = number.is_null() && field == "hostPort";
        let closed = field == "hostPort" && number == 0;
        if unset || closed || number.as_i64().is_some_and(is_port) {
            continue;
        }
        let message =
            format!("{field} {number} of container {} is not a port: 1–65535.", quote(container.name));
        let hint = "Write a number from 1 to 65535, without quotes.";
        return Some(pod.owner.error("G207", &format!("{path}/{field}"), message, hint));
    }
    None
}

/// Whether a number is a port.
pub(super) fn is_port(number: i64) -> bool {
    (1..=65_535).contains(&number)
}

fn invalid_name(pod: &PodTemplate<'_>, name: (&str, &str), is_duplicate: bool) -> Option<Finding> {
    let (name, path) = name;
    let path = format!("{path}/name");
    if name.len() > 15 {
        let message = format!("Port name {} is longer than 15 characters.", quote(name));
        return Some(pod.owner.error("G207", &path, message, "Shorten it, such as \"http-mgmt\"."));
    }
    if !is_port_name(name) {
        let message = format!(
            "Port name {} is not valid: lower-case letters, digits and single \"-\", with at least one letter.",
            quote(name)
        );
        return Some(pod.owner.error("G207", &path, message, "Rename it, such as \"http\"."));
    }
    is_duplicate.then(|| {
        let message = format!("Two ports are named {}; a Service can't distinguish them.", quote(name));
        pod.owner.error("G207", &path, message, "Rename one of them.")
    })
}

/// An IANA service name (RFC 6335).
fn is_port_name(name: &str) -> bool {
    crate::kubernetes::name::is_label(name)
        && name.bytes().any(|b| b.is_ascii_lowercase())
        && !name.contains("--")
}

/// G208: a host port limits a workload to one replica per node.
pub(super) fn host_ports(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in context.containers() {
        let replicas = integer(pod.owner.get("/spec/replicas")).unwrap_or(1);
        for (at, port) in items(container.value.get("ports")).iter().enumerate() {
            let host = integer(port.get("hostPort")).filter(|host| *host > 0);
            let Some(host) = host.filter(|_| replicas > 1 && !pod.owner.is_kind("apps", "DaemonSet")) else {
                continue;
            };
            let message =
                format!("hostPort {host} lets only one replica run per node; {replicas} are requested.");
            let path = format!("{}/ports/{at}/hostPort", container.path);
            findings.push(pod.owner.warning("G208", &path, message, "Use a Service instead of hostPort."));
        }
    }
    findings
}
