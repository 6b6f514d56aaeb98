//! Network policies that block traffic of the workload's own pods (G310).

use serde_json::Value;

use super::rule_context::{PodTemplate, RuleContext, RuleObject, items, quote};
use super::selector::{self, parse_selector};
use crate::kubernetes::labels::Labels;
use crate::text::finding::Finding;

const GROUP: &str = "networking.k8s.io";
/// The DNS port.
const DNS: i64 = 53;

/// A destination port of traffic.
struct DestinationPort<'a> {
    number: Option<i64>,
    name: Option<&'a str>,
    protocol: &'a str,
}

/// G310: no policy denies traffic from a Service of the workload to its pods, or DNS requests of its pods. Policies are
/// additive: traffic is allowed if any policy that selects the pod allows it.
pub(super) fn policies(context: &RuleContext<'_>) -> Vec<Finding> {
    let policies: Vec<NetworkPolicy<'_>> =
        context.objects_of_kind(GROUP, "NetworkPolicy").filter_map(NetworkPolicy::from_object).collect();
    if policies.is_empty() {
        return Vec::new();
    }
    let of_pod = |pod: &PodTemplate<'_>| -> Vec<&NetworkPolicy<'_>> {
        let labels = selector::pod_labels(pod);
        policies.iter().filter(|policy| policy.selects(pod, &labels)).collect()
    };
    let by_pod: Vec<Vec<&NetworkPolicy<'_>>> = context.pods.iter().map(of_pod).collect();
    let mut findings: Vec<Finding> =
        context.pods.iter().zip(&by_pod).filter_map(|(pod, policies)| dns_denied(pod, policies)).collect();
    for service in context.objects_of_kind("", "Service") {
        findings.extend(service_ports_denied(context, service, &by_pod));
    }
    findings
}

struct NetworkPolicy<'a> {
    object: &'a RuleObject<'a>,
    pods: crate::kubernetes::labels::LabelSelector,
}

impl<'a> NetworkPolicy<'a> {
    fn from_object(subject: &'a RuleObject<'a>) -> Option<Self> {
        Some(Self { object: subject, pods: parse_selector(subject.get("/spec/podSelector"))? })
    }

    fn selects(&self, pod: &PodTemplate<'_>, labels: &Labels) -> bool {
        self.object.name.namespace == pod.owner.name.namespace && self.pods.matches(labels)
    }

    /// Whether it restricts this direction; otherwise all traffic in this direction is allowed.
    fn has_direction(&self, direction: &str) -> bool {
        let types = self.object.items("/spec/policyTypes");
        match direction {
            _ if !types.is_empty() => types.iter().any(|item| item.as_str() == Some(direction)),
            "Ingress" => true,
            _ => self.object.get("/spec/egress").is_some(),
        }
    }

    /// Whether one of its rules allows this port, for any peer.
    fn allows(&self, direction: &str, port: &DestinationPort<'_>) -> bool {
        let rules = if direction == "Ingress" { "/spec/ingress" } else { "/spec/egress" };
        self.object.items(rules).iter().any(|rule| {
            let ports = items(rule.get("ports"));
            ports.is_empty() || ports.iter().any(|open| matches_port(open, port))
        })
    }
}

fn matches_port(open: &Value, port: &DestinationPort<'_>) -> bool {
    let protocol = open["protocol"].as_str().unwrap_or("TCP");
    let number = match &open["port"] {
        Value::Null => true,
        Value::String(name) => port.name == Some(name.as_str()),
        first => match (first.as_i64(), port.number) {
            (Some(first), Some(number)) => {
                (first..=open["endPort"].as_i64().unwrap_or(first)).contains(&number)
            }
            // A port name that no container has can't be resolved and counts as allowed.
            (_, None) => true,
            (None, _) => false,
        },
    };
    protocol == port.protocol && number
}

/// The first policy that restricts a direction, if none of these policies allows any of the ports.
fn denying_policy<'a>(
    policies: &[&NetworkPolicy<'a>],
    direction: &str,
    ports: &[DestinationPort<'_>],
) -> Option<&'a RuleObject<'a>> {
    let about: Vec<_> = policies.iter().filter(|policy| policy.has_direction(direction)).collect();
    let open = about.iter().any(|policy| ports.iter().any(|port| policy.allows(direction, port)));
    about.first().filter(|_| !open).map(|policy| policy.object)
}

fn dns_denied(pod: &PodTemplate<'_>, policies: &[&NetworkPolicy<'_>]) -> Option<Finding> {
    // These are the port names of the cluster DNS Service.
    let dns = |protocol, name| DestinationPort { number: Some(DNS), name: Some(name), protocol };
    let policy = denying_policy(policies, "Egress", &[dns("UDP", "dns"), dns("TCP", "dns-tcp")])?;
    let message = format!(
        "{} denies the pods of {} all traffic to port {DNS}, so they can't resolve DNS names.",
        policy.display_name, pod.owner.display_name
    );
    let hint = "Add an egress rule for port 53, UDP and TCP.";
    Some(policy.warning("G310", "/spec/egress", message, hint))
}

fn service_ports_denied<'a>(
    context: &RuleContext<'a>,
    service: &'a RuleObject<'a>,
    by_pod: &[Vec<&NetworkPolicy<'a>>],
) -> Vec<Finding> {
    let Some(selector) = service.get("/spec/selector") else { return Vec::new() };
    let pods = context.select_pod_indexes(service, selector);
    let first_denied = |port: &'a Value| {
        pods.iter().find_map(|at| {
            let pod = &context.pods[*at];
            let policy = denying_policy(&by_pod[*at], "Ingress", &[destination_port(pod, port)])?;
            let message = format!(
                "{} denies the traffic of Service {} to the pods of {} on port {}.",
                policy.display_name,
                quote(&service.name.name),
                pod.owner.display_name,
                port["port"]
            );
            let hint = "Add an ingress rule for the port that the pods listen on.";
            Some(policy.warning("G310", "/spec/ingress", message, hint))
        })
    };
    service.items("/spec/ports").iter().filter_map(first_denied).collect()
}

/// The port of a pod to which a port of a Service sends.
fn destination_port<'a>(pod: &PodTemplate<'a>, service_port: &'a Value) -> DestinationPort<'a> {
    let target =
        service_port.get("targetPort").filter(|target| !target.is_null()).unwrap_or(&service_port["port"]);
    let mut ports = pod.containers.iter().flat_map(|container| items(container.value.get("ports")));
    let declared = ports.find(|port| match target {
        Value::String(name) => port["name"] == name.as_str(),
        number => port["containerPort"] == *number,
    });
    let number = declared.map_or(target, |port| &port["containerPort"]).as_i64();
    let name = declared.map_or(target, |port| &port["name"]).as_str();
    DestinationPort { number, name, protocol: service_port["protocol"].as_str().unwrap_or("TCP") }
}
