//! Ports of containers (G207, G208).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::scene::{Container, Pod, Scene, integer, items, quoted};
use crate::finding::Finding;

/// G207: ports are in range, named as IANA names services, and stand once.
pub(super) fn container_ports(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        let (mut ports, mut names) = (HashSet::new(), HashSet::new());
        for (at, port) in items(container.value.get("ports")).iter().enumerate() {
            let path = format!("{}/ports/{at}", container.path);
            findings.extend(number(pod, container, (port, &path)));
            let protocol = port["protocol"].as_str().unwrap_or("TCP");
            if !ports.insert((integer(port.get("containerPort")), protocol, port["hostIP"].as_str())) {
                let message = format!(
                    "Port {} of container {} stands twice.",
                    port["containerPort"],
                    quoted(container.name)
                );
                findings.push(pod.owner.error("G207", &path, message, "Keep one of them."));
            }
            if let Some(name) = port["name"].as_str() {
                findings.extend(port_name(pod, (name, &path), !names.insert(name)));
            }
        }
    }
    findings
}

/// G207: no two containers of a pod listen on one port; they share one address.
pub(super) fn shared_ports(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in &scene.pods {
        let mut first: HashMap<(i64, &str), &str> = HashMap::new();
        for container in pod.containers.iter().filter(|container| !container.init) {
            for (at, port) in items(container.value.get("ports")).iter().enumerate() {
                let Some(number) = integer(port.get("containerPort")) else { continue };
                let protocol = port["protocol"].as_str().unwrap_or("TCP");
                let owner = *first.entry((number, protocol)).or_insert(container.name);
                if owner != container.name {
                    let message = format!(
                        "Containers {} and {} of one pod both listen on port {number}; the second can't start.",
                        quoted(owner),
                        quoted(container.name)
                    );
                    let path = format!("{}/ports/{at}/containerPort", container.path);
                    findings.push(pod.owner.warning("G207", &path, message, "Give each a port of its own."));
                }
            }
        }
    }
    findings
}

fn number(pod: &Pod<'_>, container: &Container<'_>, port: (&Value, &str)) -> Option<Finding> {
    let (port, path) = port;
    for field in ["containerPort", "hostPort"] {
        let number = &port[field];
        let unset = number.is_null() && field == "hostPort";
        let closed = field == "hostPort" && number == 0;
        if unset || closed || number.as_i64().is_some_and(is_port) {
            continue;
        }
        let message =
            format!("{field} {number} of container {} is not a port: 1–65535.", quoted(container.name));
        let hint = "Write a number from 1 to 65535, without quotes.";
        return Some(pod.owner.error("G207", &format!("{path}/{field}"), message, hint));
    }
    None
}

/// Whether a number is a port.
pub(super) fn is_port(number: i64) -> bool {
    (1..=65_535).contains(&number)
}

fn port_name(pod: &Pod<'_>, name: (&str, &str), again: bool) -> Option<Finding> {
    let (name, path) = name;
    let path = format!("{path}/name");
    if name.len() > 15 {
        let message = format!("Port name {} is longer than 15 characters.", quoted(name));
        return Some(pod.owner.error("G207", &path, message, "Shorten it, such as \"http-mgmt\"."));
    }
    if !is_port_name(name) {
        let message = format!(
            "Port name {} is not valid: lower-case letters, digits and single \"-\", with at least one letter.",
            quoted(name)
        );
        return Some(pod.owner.error("G207", &path, message, "Rename it, such as \"http\"."));
    }
    again.then(|| {
        let message = format!("Two ports are named {}; a service could not tell them apart.", quoted(name));
        pod.owner.error("G207", &path, message, "Rename one of them.")
    })
}

/// An IANA service name (RFC 6335).
fn is_port_name(name: &str) -> bool {
    crate::name::is_label(name) && name.bytes().any(|b| b.is_ascii_lowercase()) && !name.contains("--")
}

/// G208: a host port lets one replica run per node.
pub(super) fn host_ports(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, container) in scene.containers() {
        let replicas = integer(pod.owner.get("/spec/replicas")).unwrap_or(1);
        for (at, port) in items(container.value.get("ports")).iter().enumerate() {
            let host = integer(port.get("hostPort")).filter(|host| *host > 0);
            let Some(host) = host.filter(|_| replicas > 1 && !pod.owner.is("apps", "DaemonSet")) else {
                continue;
            };
            let message =
                format!("hostPort {host} lets only one replica run per node; {replicas} are asked for.");
            let path = format!("{}/ports/{at}/hostPort", container.path);
            findings.push(pod.owner.warning("G208", &path, message, "Use a Service instead of hostPort."));
        }
    }
    findings
}
