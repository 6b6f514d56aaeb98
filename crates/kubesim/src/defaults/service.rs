//! Defaults of services, ingresses and network policies, and the addresses a Service is given.

use serde_json::{Value, json};

use crate::object::{at, flag, list, put, put_default, text};

pub(super) fn service(object: &mut Value) {
    put_default(object, "spec.type", "ClusterIP");
    put_default(object, "spec.sessionAffinity", "None");
    if text(object, "spec.sessionAffinity") == "ClientIP" {
        put_default(object, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", 10800);
    }
    let ports = object["spec"].get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        put_default(port, "protocol", "TCP");
        if let Some(number) = at(port, "port").cloned() {
            put_default(port, "targetPort", number);
        }
    }
    if text(object, "spec.type") == "ExternalName" {
        return;
    }
    put_default(object, "spec.internalTrafficPolicy", "Cluster");
    put_default(object, "spec.ipFamilies", vec!["IPv4"]);
    put_default(object, "spec.ipFamilyPolicy", "SingleStack");
    if matches!(text(object, "spec.type"), "LoadBalancer" | "NodePort") {
        put_default(object, "spec.externalTrafficPolicy", "Cluster");
    }
    if text(object, "spec.type") == "LoadBalancer" {
        put_default(object, "spec.allocateLoadBalancerNodePorts", true);
    }
}

/// Gives a Service what it had, or a new cluster address and node ports.
pub(crate) fn allocate(object: &mut Value, old: Option<&Value>, mut next: impl FnMut() -> u32) {
    let kind = text(object, "spec.type").to_owned();
    if kind == "ExternalName" {
        return;
    }
    if text(object, "spec.clusterIP").is_empty() {
        let before = old.map(|o| text(o, "spec.clusterIP")).filter(|ip| !ip.is_empty());
        let ip = before.map_or_else(|| address("10.96", next()), str::to_owned);
        put(object, "spec.clusterIP", ip);
    }
    let ip = text(object, "spec.clusterIP").to_owned();
    put_default(object, "spec.clusterIPs", vec![ip]);
    if kind != "NodePort" && !(kind == "LoadBalancer" && flag(object, "spec.allocateLoadBalancerNodePorts")) {
        return;
    }
    let had = |port: &Value| {
        let ports = old.map(|o| list(o, "spec.ports")).unwrap_or_default();
        let same =
            |p: &&Value| p.get("port") == port.get("port") && p.get("protocol") == port.get("protocol");
        ports.iter().find(same).and_then(|p| p.get("nodePort")).cloned()
    };
    let ports = object["spec"].get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let number = had(port).unwrap_or_else(|| Value::from(30000 + next() % 2768));
        put_default(port, "nodePort", number);
    }
}

/// An address in a /16.
pub(crate) fn address(network: &str, number: u32) -> String {
    format!("{network}.{}.{}", (number / 254) % 256, number % 254 + 1)
}

pub(super) fn ingress(object: &mut Value) {
    let rules = object["spec"].get_mut("rules").and_then(Value::as_array_mut);
    for rule in rules.into_iter().flatten() {
        if let Some(paths) =
            rule.get_mut("http").and_then(|h| h.get_mut("paths")).and_then(Value::as_array_mut)
        {
            paths.iter_mut().for_each(|p| put_default(p, "pathType", "ImplementationSpecific"));
        }
    }
}

pub(super) fn network_policy(object: &mut Value) {
    let mut types = vec!["Ingress"];
    if at(object, "spec.egress").is_some() {
        types.push("Egress");
    }
    put_default(object, "spec.podSelector", json!({}));
    put_default(object, "spec.policyTypes", types);
    for direction in ["ingress", "egress"] {
        let rules = object["spec"].get_mut(direction).and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten() {
            for port in rule.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                put_default(port, "protocol", "TCP");
            }
        }
    }
}
