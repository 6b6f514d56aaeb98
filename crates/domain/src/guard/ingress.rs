//! Ingresses against the Services they lead to (G304).

use serde_json::Value;

use super::scene::{Scene, Subject, items, quoted};
use crate::finding::Finding;
use crate::name;

/// G304: hosts, path types, and backends of every rule.
pub(super) fn ingresses(scene: &Scene<'_>) -> Vec<Finding> {
    let current = scene.of("networking.k8s.io", "Ingress").filter(|ingress| ingress.name.version == "v1");
    current.flat_map(|ingress| check(scene, ingress)).collect()
}

fn check<'a>(scene: &Scene<'a>, ingress: &'a Subject<'a>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = backend(scene, ingress, "/spec/defaultBackend").into_iter().collect();
    for (at, rule) in ingress.items("/spec/rules").iter().enumerate() {
        let path = format!("/spec/rules/{at}");
        findings.extend(host(ingress, &format!("{path}/host"), rule["host"].as_str().unwrap_or_default()));
        for (n, route) in items(rule.pointer("/http/paths")).iter().enumerate() {
            let path = format!("{path}/http/paths/{n}");
            findings.extend(path_type(ingress, &path, route));
            findings.extend(backend(scene, ingress, &format!("{path}/backend")));
        }
    }
    for (at, tls) in ingress.items("/spec/tls").iter().enumerate() {
        for host_name in items(tls.get("hosts")).iter().filter_map(Value::as_str) {
            findings.extend(host(ingress, &format!("/spec/tls/{at}/hosts"), host_name));
        }
    }
    findings
}

fn host(ingress: &Subject<'_>, path: &str, host: &str) -> Option<Finding> {
    let plain = host.strip_prefix("*.").unwrap_or(host);
    if host.is_empty() || (name::is_subdomain(plain) && plain.parse::<std::net::Ipv4Addr>().is_err()) {
        return None;
    }
    let message = format!(
        "Host {} is not a DNS name: lower case, no port, no path, \"*\" only as the first part.",
        quoted(host)
    );
    Some(ingress.error("G304", path, message, "Write it as \"shop.example.com\" or \"*.example.com\"."))
}

fn path_type(ingress: &Subject<'_>, path: &str, route: &Value) -> Option<Finding> {
    let kind = route["pathType"].as_str().unwrap_or_default();
    if !matches!(kind, "Exact" | "Prefix" | "ImplementationSpecific") {
        let message = format!(
            "Ingress {} has a path without a valid pathType; Kubernetes refuses it.",
            quoted(&ingress.name.name)
        );
        return Some(ingress.error(
            "G304",
            &format!("{path}/pathType"),
            message,
            "Write \"pathType: Prefix\".",
        ));
    }
    let text = route["path"].as_str().unwrap_or_default();
    (kind != "ImplementationSpecific" && !text.starts_with('/')).then(|| {
        let message =
            format!("Path {} of Ingress {} must begin with \"/\".", quoted(text), quoted(&ingress.name.name));
        ingress.error("G304", &format!("{path}/path"), message, "Begin it with \"/\".")
    })
}

/// A Service that is not here may exist on the cluster: only a warning. A port that a Service here lacks is an error.
fn backend<'a>(scene: &Scene<'a>, ingress: &'a Subject<'a>, path: &str) -> Option<Finding> {
    let backend = ingress.get(path)?.get("service")?;
    let wanted = backend["name"].as_str()?;
    let name = quoted(&ingress.name.name);
    let Some(service) = scene.beside(ingress, "Service", wanted) else {
        let message =
            format!("Ingress {name} points to Service {}, which is not among these objects.", quoted(wanted));
        let hint = "Correct the name, or ignore this if the Service belongs to another workload.";
        return Some(ingress.warning("G304", &format!("{path}/service/name"), message, hint));
    };
    let ports = service.items("/spec/ports");
    let port = &backend["port"];
    let leads = |offered: &Value| match port["name"].as_str() {
        Some(name) => offered["name"] == name,
        None => offered["port"] == port["number"],
    };
    if service.text("/spec/type") == "ExternalName" || ports.iter().any(leads) {
        return None;
    }
    let asked = port["name"].as_str().map_or_else(|| port["number"].to_string(), quoted);
    let offered: Vec<String> = ports.iter().map(|port| port["port"].to_string()).collect();
    let message = format!(
        "Ingress {name} points to Service {} port {asked}; that Service has ports {}.",
        quoted(wanted),
        offered.join(", ")
    );
    Some(ingress.error("G304", &format!("{path}/service/port"), message, "Use one of the Service's ports."))
}
