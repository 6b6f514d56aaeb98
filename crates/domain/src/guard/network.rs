//! Network policies that cut off the pods of their own workload (G310).

use serde_json::Value;

use super::scene::{Pod, Scene, Subject, items, quoted};
use super::selector::{self, selector};
use crate::finding::Finding;
use crate::labels::Labels;

const GROUP: &str = "networking.k8s.io";
/// The port that names are asked for at.
const DNS: i64 = 53;

/// A port that somebody sends to.
struct Port<'a> {
    number: Option<i64>,
    name: Option<&'a str>,
    protocol: &'a str,
}

/// G310: no policy denies what a Service here sends to its own pods, or what every pod asks of DNS. Policies add up: a
/// pod may do what any of those that select it allows.
pub(super) fn policies(scene: &Scene<'_>) -> Vec<Finding> {
    let policies: Vec<Policy<'_>> = scene.of(GROUP, "NetworkPolicy").filter_map(Policy::of).collect();
    if policies.is_empty() {
        return Vec::new();
    }
    let of_pod = |pod: &Pod<'_>| -> Vec<&Policy<'_>> {
        let labels = selector::labels(pod);
        policies.iter().filter(|policy| policy.selects(pod, &labels)).collect()
    };
    let by_pod: Vec<Vec<&Policy<'_>>> = scene.pods.iter().map(of_pod).collect();
    let mut findings: Vec<Finding> =
        scene.pods.iter().zip(&by_pod).filter_map(|(pod, mine)| no_names(pod, mine)).collect();
    for service in scene.of("", "Service") {
        findings.extend(cut_off(scene, service, &by_pod));
    }
    findings
}

struct Policy<'a> {
    subject: &'a Subject<'a>,
    pods: crate::labels::Selector,
}

impl<'a> Policy<'a> {
    fn of(subject: &'a Subject<'a>) -> Option<Self> {
        Some(Self { subject, pods: selector(subject.get("/spec/podSelector"))? })
    }

    fn selects(&self, pod: &Pod<'_>, labels: &Labels) -> bool {
        self.subject.name.namespace == pod.owner.name.namespace && self.pods.matches(labels)
    }

    /// Whether it says anything about this direction: what it says nothing about, it allows.
    fn is_about(&self, direction: &str) -> bool {
        let types = self.subject.items("/spec/policyTypes");
        match direction {
            _ if !types.is_empty() => types.iter().any(|one| one.as_str() == Some(direction)),
            "Ingress" => true,
            _ => self.subject.get("/spec/egress").is_some(),
        }
    }

    /// Whether one of its rules lets this port through, whoever is on the other side.
    fn allows(&self, direction: &str, port: &Port<'_>) -> bool {
        let rules = if direction == "Ingress" { "/spec/ingress" } else { "/spec/egress" };
        self.subject.items(rules).iter().any(|rule| {
            let ports = items(rule.get("ports"));
            ports.is_empty() || ports.iter().any(|open| lets_through(open, port))
        })
    }
}

fn lets_through(open: &Value, port: &Port<'_>) -> bool {
    let protocol = open["protocol"].as_str().unwrap_or("TCP");
    let number = match &open["port"] {
        Value::Null => true,
        Value::String(name) => port.name == Some(name.as_str()),
        first => match (first.as_i64(), port.number) {
            (Some(first), Some(number)) => {
                (first..=open["endPort"].as_i64().unwrap_or(first)).contains(&number)
            }
            // A name that no container has leads nowhere known: nothing is said of it.
            (_, None) => true,
            (None, _) => false,
        },
    };
    protocol == port.protocol && number
}

/// The first of the policies that are about a direction, if none of them lets any of these ports through.
fn denied<'a>(policies: &[&Policy<'a>], direction: &str, ports: &[Port<'_>]) -> Option<&'a Subject<'a>> {
    let about: Vec<_> = policies.iter().filter(|policy| policy.is_about(direction)).collect();
    let open = about.iter().any(|policy| ports.iter().any(|port| policy.allows(direction, port)));
    about.first().filter(|_| !open).map(|policy| policy.subject)
}

fn no_names(pod: &Pod<'_>, policies: &[&Policy<'_>]) -> Option<Finding> {
    // The names are those that the DNS of clusters gives its ports.
    let dns = |protocol, name| Port { number: Some(DNS), name: Some(name), protocol };
    let policy = denied(policies, "Egress", &[dns("UDP", "dns"), dns("TCP", "dns-tcp")])?;
    let message = format!(
        "{} lets the pods of {} send nothing to port {DNS}, so they can't resolve any name.",
        policy.shown, pod.owner.shown
    );
    let hint = "Add an egress rule for port 53, UDP and TCP.";
    Some(policy.warning("G310", "/spec/egress", message, hint))
}

fn cut_off<'a>(scene: &Scene<'a>, service: &'a Subject<'a>, by_pod: &[Vec<&Policy<'a>>]) -> Vec<Finding> {
    let Some(wanted) = service.get("/spec/selector") else { return Vec::new() };
    let pods = scene.selected_at(service, wanted);
    let first_denied = |sent: &'a Value| {
        pods.iter().find_map(|at| {
            let pod = &scene.pods[*at];
            let policy = denied(&by_pod[*at], "Ingress", &[arrives(pod, sent)])?;
            let message = format!(
                "{} denies what Service {} sends to the pods of {} on port {}.",
                policy.shown,
                quoted(&service.name.name),
                pod.owner.shown,
                sent["port"]
            );
            let hint = "Add an ingress rule for the port that the pods listen on.";
            Some(policy.warning("G310", "/spec/ingress", message, hint))
        })
    };
    service.items("/spec/ports").iter().filter_map(first_denied).collect()
}

/// Where a port of a Service arrives at a pod.
fn arrives<'a>(pod: &Pod<'a>, sent: &'a Value) -> Port<'a> {
    let target = sent.get("targetPort").filter(|target| !target.is_null()).unwrap_or(&sent["port"]);
    let mut listening = pod.containers.iter().flat_map(|container| items(container.value.get("ports")));
    let declared = listening.find(|port| match target {
        Value::String(name) => port["name"] == name.as_str(),
        number => port["containerPort"] == *number,
    });
    let number = declared.map_or(target, |port| &port["containerPort"]).as_i64();
    let name = declared.map_or(target, |port| &port["name"]).as_str();
    Port { number, name, protocol: sent["protocol"].as_str().unwrap_or("TCP") }
}
