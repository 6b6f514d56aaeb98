//! Backends of Ingresses, and conflicts between Ingresses of the workload (G304, G305).

use std::collections::HashMap;

use serde_json::Value;

use super::rule_context::{RuleContext, RuleObject, items, quote};
use crate::kubernetes::name;
use crate::text::finding::Finding;

/// G304: hosts, path types, and backends of every rule.
pub(super) fn ingresses(context: &RuleContext<'_>) -> Vec<Finding> {
    v1_ingresses(context).flat_map(|ingress| check_ingress(context, ingress)).collect()
}

fn v1_ingresses<'a>(context: &RuleContext<'a>) -> impl Iterator<Item = &'a RuleObject<'a>> {
    context.objects_of_kind("networking.k8s.io", "Ingress").filter(|ingress| ingress.name.version == "v1")
}

/// G305: a path of a host has one backend. Which of two is used depends on the ingress controller.
pub(super) fn conflicts(context: &RuleContext<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut routes: HashMap<[&str; 4], &RuleObject<'_>> = HashMap::new();
    // A canary Ingress receives a part of the requests of another Ingress.
    let canary = "/metadata/annotations/nginx.ingress.kubernetes.io~1canary";
    for ingress in v1_ingresses(context).filter(|ingress| ingress.text(canary) != "true") {
        let class = ingress.text("/spec/ingressClassName");
        for (at, rule) in ingress.items("/spec/rules").iter().enumerate() {
            let host = rule["host"].as_str().unwrap_or_default();
            for (n, route) in items(rule.pointer("/http/paths")).iter().enumerate() {
                let path = route["path"].as_str().unwrap_or("/");
                let kind = route["pathType"].as_str().unwrap_or_default();
                let Some(first) = routes.insert([class, host, path, kind], ingress) else { continue };
                let message = format!(
                    "{} and {} both route {}; the ingress controller decides which of them receives the requests.",
                    first.display_name,
                    ingress.display_name,
                    quote(&format!("{}{path}", if host.is_empty() { "*" } else { host }))
                );
                let pointer = format!("/spec/rules/{at}/http/paths/{n}/path");
                findings.push(ingress.warning("G305", &pointer, message, "Keep one of them."));
            }
        }
    }
    findings
}

fn check_ingress<'a>(context: &RuleContext<'a>, ingress: &'a RuleObject<'a>) -> Vec<Finding> {
    let mut findings: Vec<Finding> =
        invalid_backend(context, ingress, "/spec/defaultBackend").into_iter().collect();
    let rules = ingress.items("/spec/rules");
    if rules.is_empty() && ingress.get("/spec/defaultBackend").is_none() {
        let message = format!(
            "{} has neither rules nor a defaultBackend; Kubernetes rejects it.",
            ingress.display_name
        );
        findings.push(ingress.error("G304", "/spec", message, "Add a rule with a host and a path."));
    }
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("/spec/rules/{at}");
        findings.extend(invalid_host(
            ingress,
            &format!("{path}/host"),
            rule["host"].as_str().unwrap_or_default(),
        ));
        for (n, route) in items(rule.pointer("/http/paths")).iter().enumerate() {
            let path = format!("{path}/http/paths/{n}");
            findings.extend(invalid_path(ingress, &path, route));
            findings.extend(invalid_backend(context, ingress, &format!("{path}/backend")));
        }
    }
    for (at, tls) in ingress.items("/spec/tls").iter().enumerate() {
        for host_name in items(tls.get("hosts")).iter().filter_map(Value::as_str) {
            findings.extend(invalid_host(ingress, &format!("/spec/tls/{at}/hosts"), host_name));
        }
        findings.extend(invalid_secret_name(
            ingress,
            &format!("/spec/tls/{at}/secretName"),
            tls["secretName"].as_str(),
        ));
    }
    findings
}

fn invalid_host(ingress: &RuleObject<'_>, path: &str, host: &str) -> Option<Finding> {
    let plain = host.strip_prefix("*.").unwrap_or(host);
    if host.is_empty() || (name::is_subdomain(plain) && plain.parse::<std::net::Ipv4Addr>().is_err()) {
        return None;
    }
    let message = format!(
        "Host {} is not a DNS name: lower case, no port, no path, \"*\" only as the first part.",
        quote(host)
    );
    Some(ingress.error("G304", path, message, "Write it as \"shop.example.com\" or \"*.example.com\"."))
}

/// Without a Secret, the controller uses its default certificate.
fn invalid_secret_name(ingress: &RuleObject<'_>, path: &str, secret: Option<&str>) -> Option<Finding> {
    let secret = secret.filter(|secret| !secret.is_empty() && !name::is_subdomain(secret))?;
    let message = format!("{} is not a valid name of a Secret; Kubernetes rejects it.", quote(secret));
    let hint = "Use lower-case letters, digits, \"-\" and \".\".";
    Some(ingress.error("G304", path, message, hint))
}

fn invalid_path(ingress: &RuleObject<'_>, path: &str, route: &Value) -> Option<Finding> {
    let kind = route["pathType"].as_str().unwrap_or_default();
    if !matches!(kind, "Exact" | "Prefix" | "ImplementationSpecific") {
        let message = format!(
            "Ingress {} has a path without a valid pathType; Kubernetes rejects it.",
            quote(&ingress.name.name)
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
            format!("Path {} of Ingress {} must begin with \"/\".", quote(text), quote(&ingress.name.name));
        ingress.error("G304", &format!("{path}/path"), message, "Begin it with \"/\".")
    })
}

/// A Service that is not in the workload may exist on the cluster: a warning. A port that a Service of the workload
/// does not have is an error.
fn invalid_backend<'a>(
    context: &RuleContext<'a>,
    ingress: &'a RuleObject<'a>,
    path: &str,
) -> Option<Finding> {
    let name = quote(&ingress.name.name);
    // The backend of a rule is required, the default backend is optional.
    let Some(backend) = ingress.get(path) else {
        let rule = path != "/spec/defaultBackend";
        return rule.then(|| {
            let message = format!("Ingress {name} has a path without a backend; Kubernetes rejects it.");
            ingress.error("G304", path, message, "Add backend.service with the name and port of a Service.")
        });
    };
    if backend.get("serviceName").is_some() {
        let message =
            format!("Ingress {name} uses the backend fields of v1beta1; Kubernetes rejects them in v1.");
        let hint = "Write backend.service.name and backend.service.port.number.";
        return Some(ingress.error("G304", path, message, hint));
    }
    let backend = backend.get("service")?;
    let service_name = backend["name"].as_str()?;
    let Some(service) = context.find_in_namespace(ingress, "Service", service_name) else {
        let message = format!(
            "Ingress {name} points to Service {}, which is not among these objects.",
            quote(service_name)
        );
        let hint = "Correct the name, or ignore this if the Service belongs to another workload.";
        return Some(ingress.warning("G304", &format!("{path}/service/name"), message, hint));
    };
    let ports = service.items("/spec/ports");
    let port = &backend["port"];
    let is_target = |candidate: &Value| match port["name"].as_str() {
        Some(name) => candidate["name"] == name,
        None => candidate["port"] == port["number"],
    };
    if service.text("/spec/type") == "ExternalName" || ports.iter().any(is_target) {
        return None;
    }
    let target = port["name"].as_str().map_or_else(|| port["number"].to_string(), quote);
    let available: Vec<String> = ports.iter().map(|port| port["port"].to_string()).collect();
    let message = format!(
        "Ingress {name} points to Service {} port {target}; that Service has ports {}.",
        quote(service_name),
        available.join(", ")
    );
    Some(ingress.error("G304", &format!("{path}/service/port"), message, "Use one of the Service's ports."))
}
