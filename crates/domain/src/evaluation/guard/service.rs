//! Services and the pods that they select (G301 … G303).

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::ports::is_port;
use super::rule_context::{PodTemplate, RuleContext, RuleObject, integer, items, quote};
use crate::text::finding::Finding;

/// G301: a selector without a matching pod of this workload. A warning, because the pods may belong to another
/// workload.
pub(super) fn selectors(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in context.objects_of_kind("", "Service") {
        let path = "/spec/selector";
        let Some(selector) =
            service.get(path).filter(|selector| selector.as_object().is_some_and(|map| !map.is_empty()))
        else {
            continue;
        };
        if context.select_pods(service, selector).is_empty() {
            let message = format!(
                "Service {} selects {}, but no pod template here has those labels.",
                quote(&service.name.name),
                format_selector(selector)
            );
            let hint = "Correct the selector, or ignore this if the pods belong to another workload.";
            findings.push(service.warning("G301", path, message, hint));
        }
    }
    findings
}

fn format_selector(selector: &Value) -> String {
    let pairs = selector.as_object().into_iter().flatten();
    let pairs: Vec<String> =
        pairs.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default())).collect();
    pairs.join(",").chars().take(160).collect()
}

/// G302: ports are in range, have names if there are several, are unique, and target a port of the pods.
pub(super) fn ports(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for service in context.objects_of_kind("", "Service") {
        let ports = service.items("/spec/ports");
        let pods = service
            .get("/spec/selector")
            .map(|selector| context.select_pods(service, selector))
            .unwrap_or_default();
        findings.extend(invalid_shape(service, ports));
        let (mut numbers, mut names) = (HashSet::new(), HashSet::new());
        for (at, port) in ports.iter().enumerate() {
            let path = format!("/spec/ports/{at}");
            let name = port["name"].as_str().unwrap_or_default();
            let is_duplicate =
                !numbers.insert((integer(port.get("port")), port["protocol"].as_str().unwrap_or("TCP")));
            let problem = invalid_number(port)
                .or_else(|| invalid_port_name(name, ports.len(), !names.insert(name)))
                .or_else(|| {
                    is_duplicate
                        .then(|| (format!("port {} is listed twice", port["port"]), "Keep one of them."))
                });
            if let Some((problem, hint)) = problem {
                let message =
                    format!("Service {}: {problem}; Kubernetes rejects it.", quote(&service.name.name));
                findings.push(service.error("G302", &path, message, hint));
            } else if !pods.is_empty() {
                findings.extend(invalid_target(service, &path, port, &pods));
            }
        }
    }
    findings
}

fn invalid_number(port: &Value) -> Option<(String, &'static str)> {
    let hint = "Write a number from 1 to 65535, without quotes.";
    if !port["port"].as_i64().is_some_and(is_port) {
        return Some((format!("port {} is not a port: 1–65535", port["port"]), hint));
    }
    let target = &port["targetPort"];
    let wrong = target.is_number() && !target.as_i64().is_some_and(is_port);
    wrong.then(|| (format!("targetPort {target} is not a port: 1–65535"), hint))
}

/// Fields that a Service must have, whatever its ports are.
fn invalid_shape(service: &RuleObject<'_>, ports: &[Value]) -> Option<Finding> {
    let external = service.text("/spec/type") == "ExternalName";
    let name = quote(&service.name.name);
    if external && service.text("/spec/externalName").is_empty() {
        let message =
            format!("Service {name} is an ExternalName without externalName; Kubernetes rejects it.");
        return Some(service.error(
            "G302",
            "/spec/type",
            message,
            "Add externalName, such as db.example.com.",
        ));
    }
    let headless = service.text("/spec/clusterIP") == "None";
    (ports.is_empty() && !external && !headless && service.get("/spec").is_some()).then(|| {
        let message = format!("Service {name} has no ports; Kubernetes rejects it.");
        service.error("G302", "/spec/ports", message, "Add the port that it serves.")
    })
}

fn invalid_port_name(name: &str, count: usize, is_duplicate: bool) -> Option<(String, &'static str)> {
    if count > 1 && name.is_empty() {
        return Some((
            "with several ports each needs a name".to_owned(),
            "Add a name to each port, such as \"http\".",
        ));
    }
    (is_duplicate && count > 1)
        .then(|| (format!("two ports are named {}", quote(name)), "Rename one of them."))
}

/// A target port name must exist: an error. A container may listen on ports that it does not declare, so an undeclared
/// number is only a warning.
fn invalid_target(
    service: &RuleObject<'_>,
    path: &str,
    port: &Value,
    pods: &[&PodTemplate<'_>],
) -> Option<Finding> {
    let target = port.get("targetPort").filter(|target| !target.is_null()).unwrap_or(&port["port"]);
    let declared: Vec<&Value> = pods.iter().flat_map(|pod| declared_ports(pod)).collect();
    let is_target = |port: &&&Value| match target {
        Value::String(name) => port["name"] == name.as_str(),
        number => port["containerPort"] == *number,
    };
    if declared.iter().any(|port| is_target(&port)) {
        return None;
    }
    let at = format!("{path}/targetPort");
    let service_name = quote(&service.name.name);
    if let Value::String(name) = target {
        let message = format!(
            "Service {service_name} sends port {} to {}, but no container has a port of that name.",
            port["port"],
            quote(name)
        );
        return Some(service.error(
            "G302",
            &at,
            message,
            "Give a port of the container that name, or write its number.",
        ));
    }
    let first = declared.first()?;
    let message = format!(
        "Service {service_name} sends port {} to {target}, but the container declares port {}.",
        port["port"], first["containerPort"]
    );
    Some(service.warning("G302", &at, message, "Correct targetPort, or add the port to the container."))
}

/// The ports that the containers of a pod declare.
fn declared_ports<'a>(pod: &PodTemplate<'a>) -> impl Iterator<Item = &'a Value> {
    let running: Vec<&'a Value> = pod
        .containers
        .iter()
        .filter(|container| !container.is_init)
        .map(|container| container.value)
        .collect();
    running.into_iter().flat_map(|container| items(container.get("ports")))
}

/// G303: node ports are in the default range, belong to a Service of a matching type, and are unique.
pub(super) fn node_ports(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut used: HashMap<i64, (&RuleObject<'_>, &Value)> = HashMap::new();
    for service in context.objects_of_kind("", "Service") {
        for (at, port) in service.items("/spec/ports").iter().enumerate() {
            let Some(number) = integer(port.get("nodePort")).filter(|number| *number != 0) else { continue };
            // Only entries of one Service with the same port and different protocols may share a node port.
            let shared = |(first, other): &(&RuleObject<'_>, &Value)| {
                first.name == service.name
                    && other["port"] == port["port"]
                    && other["protocol"].as_str().unwrap_or("TCP")
                        != port["protocol"].as_str().unwrap_or("TCP")
            };
            let first = used.insert(number, (service, port)).filter(|previous| !shared(previous));
            let first = first.map(|(service, _)| service);
            if let Some((problem, hint)) = invalid_node_port(service, number, first) {
                let message =
                    format!("nodePort {number} of Service {} {problem}.", quote(&service.name.name));
                findings.push(service.error("G303", &format!("/spec/ports/{at}/nodePort"), message, hint));
            }
        }
    }
    findings
}

fn invalid_node_port(
    service: &RuleObject<'_>,
    number: i64,
    first: Option<&RuleObject<'_>>,
) -> Option<(String, &'static str)> {
    let choose = "Choose one in the range, or leave it out so that the cluster assigns one.";
    if !(30_000..=32_767).contains(&number) {
        return Some(("is outside of 30000–32767".to_owned(), choose));
    }
    if !matches!(service.text("/spec/type"), "NodePort" | "LoadBalancer") {
        let problem = "needs the type NodePort or LoadBalancer; Kubernetes rejects it".to_owned();
        return Some((problem, "Set the type, or leave nodePort out."));
    }
    first.map(|first| {
        (format!("is also used by {}; a node port can be used once per cluster", first.display_name), choose)
    })
}
