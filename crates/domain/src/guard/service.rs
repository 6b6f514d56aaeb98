//! Services against the pods they send traffic to (G301 … G303).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::ports::is_port;
use super::scene::{Pod, Scene, Subject, integer, items, quoted};
use crate::finding::Finding;

/// G301: a selector that finds no pod of this workload. A warning: the pods may be somebody else's.
pub(super) fn selects_something(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in scene.of("", "Service") {
        let path = "/spec/selector";
        let Some(selector) =
            service.get(path).filter(|selector| selector.as_object().is_some_and(|map| !map.is_empty()))
        else {
            continue;
        };
        if scene.selected(service, selector).is_empty() {
            let message = format!(
                "Service {} selects {}, but no pod template here has those labels.",
                quoted(&service.name.name),
                shown(selector)
            );
            let hint = "Correct the selector, or ignore this if the pods belong to another workload.";
            findings.push(service.warning("G301", path, message, hint));
        }
    }
    findings
}

fn shown(selector: &Value) -> String {
    let pairs = selector.as_object().into_iter().flatten();
    let pairs: Vec<String> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    pairs.join(",").chars().take(160).collect()
}

/// G302: ports are in range, named where there are several, stand once, and lead to a port of the pods.
pub(super) fn ports(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in scene.of("", "Service") {
        let ports = service.items("/spec/ports");
        let pods = service
            .get("/spec/selector")
            .map(|selector| scene.selected(service, selector))
            .unwrap_or_default();
        findings.extend(shape(service, ports));
        let (mut seen, mut names) = (HashSet::new(), HashSet::new());
        for (at, port) in ports.iter().enumerate() {
            let path = format!("/spec/ports/{at}");
            let name = port["name"].as_str().unwrap_or_default();
            let again = !seen.insert((integer(port.get("port")), port["protocol"].as_str().unwrap_or("TCP")));
            let problem =
                number(port).or_else(|| naming(name, ports.len(), !names.insert(name))).or_else(|| {
                    again.then(|| (format!("port {} stands twice", port["port"]), "Keep one of them."))
                });
            if let Some((why, hint)) = problem {
                let message =
                    format!("Service {}: {why}; Kubernetes refuses it.", quoted(&service.name.name));
                findings.push(service.error("G302", &path, message, hint));
            } else if !pods.is_empty() {
                findings.extend(target(service, &path, port, &pods));
            }
        }
    }
    findings
}

fn number(port: &Value) -> Option<(String, &'static str)> {
    let hint = "Write a number from 1 to 65535, without quotes.";
    if !port["port"].as_i64().is_some_and(is_port) {
        return Some((format!("port {} is not a port: 1–65535", port["port"]), hint));
    }
    let target = &port["targetPort"];
    let wrong = target.is_number() && !target.as_i64().is_some_and(is_port);
    wrong.then(|| (format!("targetPort {target} is not a port: 1–65535"), hint))
}

/// What a Service must have whatever its ports are.
fn shape(service: &Subject<'_>, ports: &[Value]) -> Option<Finding> {
    let external = service.text("/spec/type") == "ExternalName";
    let name = quoted(&service.name.name);
    if external && service.text("/spec/externalName").is_empty() {
        let message =
            format!("Service {name} is an ExternalName without externalName; Kubernetes refuses it.");
        return Some(service.error(
            "G302",
            "/spec/type",
            message,
            "Add externalName, such as db.example.com.",
        ));
    }
    let headless = service.text("/spec/clusterIP") == "None";
    (ports.is_empty() && !external && !headless && service.get("/spec").is_some()).then(|| {
        let message = format!("Service {name} has no ports, so it leads nowhere; Kubernetes refuses it.");
        service.error("G302", "/spec/ports", message, "Add the port that it offers.")
    })
}

fn naming(name: &str, count: usize, again: bool) -> Option<(String, &'static str)> {
    if count > 1 && name.is_empty() {
        return Some((
            "with several ports each needs a name".to_owned(),
            "Add a name to each port, such as \"http\".",
        ));
    }
    (again && count > 1).then(|| (format!("two ports are named {}", quoted(name)), "Rename one of them."))
}

/// A named target must exist. A number need not be declared by the container, so an unknown one is only a warning.
fn target(service: &Subject<'_>, path: &str, port: &Value, pods: &[&Pod<'_>]) -> Option<Finding> {
    let target = port.get("targetPort").filter(|target| !target.is_null()).unwrap_or(&port["port"]);
    let declared: Vec<&Value> = pods.iter().flat_map(|pod| declared(pod)).collect();
    let leads = |port: &&&Value| match target {
        Value::String(name) => port["name"] == name.as_str(),
        number => port["containerPort"] == *number,
    };
    if declared.iter().any(|port| leads(&port)) {
        return None;
    }
    let at = format!("{path}/targetPort");
    let service_name = quoted(&service.name.name);
    if let Value::String(name) = target {
        let message = format!(
            "Service {service_name} sends port {} to {}, but no container has a port of that name.",
            port["port"],
            quoted(name)
        );
        return Some(service.error(
            "G302",
            &at,
            message,
            "Name a port of the container so, or write its number.",
        ));
    }
    let listens = declared.first()?;
    let message = format!(
        "Service {service_name} sends port {} to {target}, but the container says that it listens on {}.",
        port["port"], listens["containerPort"]
    );
    Some(service.warning("G302", &at, message, "Correct targetPort, or add the port to the container."))
}

/// The ports that the containers of a pod say they listen on.
fn declared<'a>(pod: &Pod<'a>) -> impl Iterator<Item = &'a Value> {
    let running: Vec<&'a Value> =
        pod.containers.iter().filter(|container| !container.init).map(|container| container.value).collect();
    running.into_iter().flat_map(|container| items(container.get("ports")))
}

/// G303: node ports are in the range that clusters reserve for them, on Services that have some, and each is taken once.
pub(super) fn node_ports(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut taken: HashMap<i64, (&Subject<'_>, &Value)> = HashMap::new();
    for service in scene.of("", "Service") {
        for (at, port) in service.items("/spec/ports").iter().enumerate() {
            let Some(number) = integer(port.get("nodePort")).filter(|number| *number != 0) else { continue };
            // Only one port that is offered over several protocols has one number for all of them.
            let shared = |(first, other): &(&Subject<'_>, &Value)| {
                first.name == service.name
                    && other["port"] == port["port"]
                    && other["protocol"].as_str().unwrap_or("TCP")
                        != port["protocol"].as_str().unwrap_or("TCP")
            };
            let first = taken.insert(number, (service, port)).filter(|before| !shared(before));
            let first = first.map(|(service, _)| service);
            if let Some((why, hint)) = node_port(service, number, first) {
                let message = format!("nodePort {number} of Service {} {why}.", quoted(&service.name.name));
                findings.push(service.error("G303", &format!("/spec/ports/{at}/nodePort"), message, hint));
            }
        }
    }
    findings
}

fn node_port(
    service: &Subject<'_>,
    number: i64,
    taken: Option<&Subject<'_>>,
) -> Option<(String, &'static str)> {
    let free = "Choose one in the range, or leave it out and let the cluster choose.";
    if !(30_000..=32_767).contains(&number) {
        return Some(("is outside of 30000–32767".to_owned(), free));
    }
    if !matches!(service.text("/spec/type"), "NodePort" | "LoadBalancer") {
        let why = "needs the type NodePort or LoadBalancer; Kubernetes refuses it".to_owned();
        return Some((why, "Set the type, or leave nodePort out."));
    }
    taken.map(|first| (format!("is also asked for by {}; a cluster gives it once", first.shown), free))
}
