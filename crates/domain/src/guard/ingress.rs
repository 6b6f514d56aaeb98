//! Ingresses against the Services they lead to, and against each other (G304, G305).

use std::collections::HashMap;

use serde_json::Value;

use super::scene::{Scene, Subject, items, quoted};
use crate::finding::Finding;
use crate::name;

/// G304: hosts, path types, and backends of every rule.
pub(super) fn ingresses(scene: &Scene<'_>) -> Vec<Finding> {
    current(scene).flat_map(|ingress| check(scene, ingress)).collect()
}

fn current<'a>(scene: &Scene<'a>) -> impl Iterator<Item = &'a Subject<'a>> {
    scene.of("networking.k8s.io", "Ingress").filter(|ingress| ingress.name.version == "v1")
}

/// G305: one path of one host leads to one place. Controllers differ in which of two they take.
pub(super) fn clashes(scene: &Scene<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut taken: HashMap<[&str; 4], &Subject<'_>> = HashMap::new();
    // A canary takes a part of what its twin gets.
    let canary = "/metadata/annotations/nginx.ingress.kubernetes.io~1canary";
    for ingress in current(scene).filter(|ingress| ingress.text(canary) != "true") {
        let class = ingress.text("/spec/ingressClassName");
        for (at, rule) in ingress.items("/spec/rules").iter().enumerate() {
            let host = rule["host"].as_str().unwrap_or_default();
            for (n, route) in items(rule.pointer("/http/paths")).iter().enumerate() {
                let path = route["path"].as_str().unwrap_or("/");
                let kind = route["pathType"].as_str().unwrap_or_default();
                let Some(first) = taken.insert([class, host, path, kind], ingress) else { continue };
                let message = format!(
                    "{} and {} both take {}; which of them is asked, only the controller knows.",
                    first.shown,
                    ingress.shown,
                    quoted(&format!("{}{path}", if host.is_empty() { "*" } else { host }))
                );
                let place = format!("/spec/rules/{at}/http/paths/{n}/path");
                findings.push(ingress.warning("G305", &place, message, "Keep one of them."));
            }
        }
    }
    findings
}

fn check<'a>(scene: &Scene<'a>, ingress: &'a Subject<'a>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = backend(scene, ingress, "/spec/defaultBackend").into_iter().collect();
    let rules = ingress.items("/spec/rules");
    if rules.is_empty() && ingress.get("/spec/defaultBackend").is_none() {
        let message =
            format!("{} has neither rules nor a defaultBackend; Kubernetes refuses it.", ingress.shown);
        findings.push(ingress.error("G304", "/spec", message, "Add a rule with a host and a path."));
    }
    for (at, rule) in rules.iter().enumerate() {
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
        findings.extend(certificate(
            ingress,
            &format!("/spec/tls/{at}/secretName"),
            tls["secretName"].as_str(),
        ));
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

/// A certificate without a Secret is the controller's own.
fn certificate(ingress: &Subject<'_>, path: &str, secret: Option<&str>) -> Option<Finding> {
    let secret = secret.filter(|secret| !secret.is_empty() && !name::is_subdomain(secret))?;
    let message = format!("{} is no name of a Secret; Kubernetes refuses it.", quoted(secret));
    let hint = "Use lower-case letters, digits, \"-\" and \".\".";
    Some(ingress.error("G304", path, message, hint))
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
    let name = quoted(&ingress.name.name);
    // A rule must lead somewhere, the default may be missing.
    let Some(backend) = ingress.get(path) else {
        let rule = path != "/spec/defaultBackend";
        return rule.then(|| {
            let message = format!("Ingress {name} has a path without a backend; Kubernetes refuses it.");
            ingress.error("G304", path, message, "Add backend.service with the name and port of a Service.")
        });
    };
    if backend.get("serviceName").is_some() {
        let message =
            format!("Ingress {name} names its backend as v1beta1 did; Kubernetes refuses it in v1.");
        let hint = "Write backend.service.name and backend.service.port.number.";
        return Some(ingress.error("G304", path, message, hint));
    }
    let backend = backend.get("service")?;
    let wanted = backend["name"].as_str()?;
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
