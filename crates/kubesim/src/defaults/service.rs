//! Defaults of services, ingresses and network policies, and the allocation of Service addresses.

use serde_json::{Value, json};

use crate::object::{array_at, bool_at, remove_value, set_default, set_value, str_at, value_at};

pub(super) fn default_service(object: &mut Value) {
    set_default(object, "spec.type", "ClusterIP");
    set_default(object, "spec.sessionAffinity", "None");
    if str_at(object, "spec.sessionAffinity") == "ClientIP" {
        set_default(object, "spec.sessionAffinityConfig.clientIP.timeoutSeconds", 10800);
    }
    let ports = object["spec"].get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        set_default(port, "protocol", "TCP");
        if let Some(number) = value_at(port, "port").cloned() {
            set_default(port, "targetPort", number);
        }
    }
    if str_at(object, "spec.type") == "ExternalName" {
        return;
    }
    set_default(object, "spec.internalTrafficPolicy", "Cluster");
    set_default(object, "spec.ipFamilies", vec!["IPv4"]);
    set_default(object, "spec.ipFamilyPolicy", "SingleStack");
    if matches!(str_at(object, "spec.type"), "LoadBalancer" | "NodePort") {
        set_default(object, "spec.externalTrafficPolicy", "Cluster");
    }
    if str_at(object, "spec.type") == "LoadBalancer" {
        set_default(object, "spec.allocateLoadBalancerNodePorts", true);
    }
}

/// Sets the cluster IP and node ports of a Service: those of `old`, or newly allocated ones.
pub(crate) fn allocate_addresses(object: &mut Value, old: Option<&Value>, mut next: impl FnMut() -> u32) {
    let kind = str_at(object, "spec.type").to_owned();
    if kind == "ExternalName" {
        return;
    }
    if str_at(object, "spec.clusterIP").is_empty() {
        let before = old.map(|o| str_at(o, "spec.clusterIP")).filter(|ip| !ip.is_empty());
        let ip = before.map_or_else(|| format_address("10.96", next()), str::to_owned);
        set_value(object, "spec.clusterIP", ip);
    }
    let ip = str_at(object, "spec.clusterIP").to_owned();
    set_default(object, "spec.clusterIPs", vec![ip]);
    // A node port of 0 is one that is not set.
    for port in object["spec"].get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        if port["nodePort"] == 0 {
            remove_value(port, "nodePort");
        }
    }
    if kind != "NodePort"
        && !(kind == "LoadBalancer" && bool_at(object, "spec.allocateLoadBalancerNodePorts"))
    {
        return;
    }
    let had = |port: &Value| {
        let ports = old.map(|o| array_at(o, "spec.ports")).unwrap_or_default();
        let same =
            |p: &&Value| p.get("port") == port.get("port") && p.get("protocol") == port.get("protocol");
        ports.iter().find(same).and_then(|p| p.get("nodePort")).cloned()
    };
    let ports = object["spec"].get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let number = had(port).unwrap_or_else(|| Value::from(30000 + next() % 2768));
        set_default(port, "nodePort", number);
    }
}

/// An address in a /16 network.
pub(crate) fn format_address(network: &str, number: u32) -> String {
    format!("{network}.{}.{}", (number / 254) % 256, number % 254 + 1)
}

pub(super) fn default_ingress(object: &mut Value) {
    let rules = object["spec"].get_mut("rules").and_then(Value::as_array_mut);
    for rule in rules.into_iter().flatten() {
        if let Some(paths) =
            rule.get_mut("http").and_then(|h| h.get_mut("paths")).and_then(Value::as_array_mut)
        {
            paths.iter_mut().for_each(|p| set_default(p, "pathType", "ImplementationSpecific"));
        }
    }
}

pub(super) fn default_network_policy(object: &mut Value) {
    let mut types = vec!["Ingress"];
    if value_at(object, "spec.egress").is_some() {
        types.push("Egress");
    }
    set_default(object, "spec.podSelector", json!({}));
    set_default(object, "spec.policyTypes", types);
    for direction in ["ingress", "egress"] {
        let rules = object["spec"].get_mut(direction).and_then(Value::as_array_mut);
        for rule in rules.into_iter().flatten() {
            for port in rule.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                set_default(port, "protocol", "TCP");
            }
        }
    }
}
