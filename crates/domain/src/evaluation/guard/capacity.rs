//! Requests of pods compared with the quotas and the nodes of a cluster (G407, G408).

use std::collections::BTreeMap;

use serde_json::Value;

use super::cluster_context::ClusterContext;
use super::rule_context::{Container, PodTemplate, integer, quote};
use crate::kubernetes::quantity::Quantity;
use crate::model::cluster::{NodePool, Quota};
use crate::text::finding::{Finding, Severity};

/// G407: quotas of the namespaces. Requests above the hard limit can never run: an error. Requests above the remainder
/// are a warning, because the used amount includes pods of this workload that already run.
pub(super) fn quotas(context: &ClusterContext<'_>) -> Vec<Finding> {
    let mut by_namespace: BTreeMap<&str, Vec<&PodTemplate<'_>>> = BTreeMap::new();
    for pod in &context.rule_context.pods {
        by_namespace.entry(&pod.owner.name.namespace).or_default().push(pod);
    }
    let mut findings = Vec::new();
    for (namespace, pods) in by_namespace {
        let Some(facts) = context.cluster.facts.namespace(namespace) else { continue };
        for quota in &facts.quotas {
            for (resource, hard) in &quota.hard {
                findings.extend(check_quota(context, namespace, &pods, (quota, resource, *hard)));
            }
            findings.extend(pods.iter().filter_map(|pod| missing_amount(pod, namespace, quota)));
        }
    }
    findings
}

fn check_quota(
    context: &ClusterContext<'_>,
    namespace: &str,
    pods: &[&PodTemplate<'_>],
    (quota, resource, hard): (&Quota, &str, Quantity),
) -> Option<Finding> {
    let (list, what) = quota_resource(resource)?;
    let need: Quantity =
        pods.iter().map(|pod| pod_amount(pod, list, what).times(pod_count(context, pod))).sum();
    let used = quota.used.get(resource).copied().unwrap_or_default();
    let shown = |amount: Quantity| if what == "memory" { amount.format_bytes() } else { amount.to_string() };
    let name = quote(&quota.name);
    if need > hard {
        let message = format!(
            "Quota {name} of namespace {} allows {resource} {}, and this needs {}: some of its pods can never start.",
            quote(namespace),
            shown(hard),
            shown(need)
        );
        return Some(Finding::error(
            "G407",
            message,
            "Request less, run fewer replicas there, or raise the quota.",
        ));
    }
    let is_blocked =
        |pod: &&&PodTemplate<'_>| is_surge_required(pod) && need + pod_amount(pod, list, what) > hard;
    if let Some(pod) = pods.iter().find(is_blocked) {
        let message = format!(
            "Quota {name} of namespace {} allows {resource} {}, and this needs {}: {} starts a new pod before it stops an old one, so no update of it can complete.",
            quote(namespace),
            shown(hard),
            shown(need),
            pod.owner.display_name
        );
        let hint =
            "Allow it to stop a pod first (strategy.rollingUpdate.maxUnavailable: 1), or raise the quota.";
        return Some(Finding::warning("G407", message, hint));
    }
    let left = hard - used;
    (need > left).then(|| {
        let message = format!(
            "Quota {name} of namespace {} has {resource} {} left, and this needs {}. Its pods that already run count as used.",
            quote(namespace),
            shown(left.max(Quantity::ZERO)),
            shown(need)
        );
        Finding::warning("G407", message, "Check that it fits, or raise the quota.")
    })
}

/// Whether an update of a Deployment needs one pod more than its replicas. By default this holds for fewer than four
/// replicas, because the default `maxUnavailable` of 25 % is rounded down to 0.
fn is_surge_required(pod: &PodTemplate<'_>) -> bool {
    let owner = pod.owner;
    let rolling = "/spec/strategy/rollingUpdate";
    let replicas = integer(owner.get("/spec/replicas")).unwrap_or(1);
    let share = |field: &str| match owner.get(&format!("{rolling}/{field}")) {
        None => replicas / 4,
        Some(Value::String(text)) => {
            text.trim_end_matches('%').parse().unwrap_or(0_i64).saturating_mul(replicas) / 100
        }
        Some(number) => number.as_i64().unwrap_or(0),
    };
    let no_surge = owner.get(&format!("{rolling}/maxSurge")).is_some_and(|most| *most == 0 || *most == "0%");
    owner.is_kind("apps", "Deployment")
        && owner.text("/spec/strategy/type") != "Recreate"
        && replicas > 0
        && share("maxUnavailable") == 0
        && !no_surge
}

/// The list (`requests` or `limits`) and the resource that a quota counts; `None` if it does not count pods.
fn quota_resource(resource: &str) -> Option<(&'static str, &'static str)> {
    Some(match resource {
        "cpu" | "requests.cpu" => ("requests", "cpu"),
        "memory" | "requests.memory" => ("requests", "memory"),
        "limits.cpu" => ("limits", "cpu"),
        "limits.memory" => ("limits", "memory"),
        "pods" | "count/pods" => ("", "pods"),
        _ => return None,
    })
}

/// A quota on a resource rejects pods that do not set it, unless a LimitRange sets a default.
fn missing_amount(pod: &PodTemplate<'_>, namespace: &str, quota: &Quota) -> Option<Finding> {
    let is_compute =
        |resource: &&String| quota_resource(resource).filter(|(list, _)| !list.is_empty()).is_some();
    for resource in quota.hard.keys().filter(is_compute) {
        let Some((list, what)) = quota_resource(resource) else { continue };
        let unset = pod.containers.iter().find(|container| container_amount(container, list, what).is_none());
        if let Some(container) = unset {
            let message = format!(
                "Quota {} of namespace {} limits {resource}, and container {} does not set {list}.{what}: its pod is \
                 rejected there, unless a LimitRange sets a default.",
                quote(&quota.name),
                quote(namespace),
                quote(container.name)
            );
            let hint = format!("Set resources.{list}.{what}.");
            return Some(pod.owner.warning("G407", &container.path, message, &hint));
        }
    }
    None
}

/// G408: at least one node has room for one pod.
pub(super) fn nodes(context: &ClusterContext<'_>) -> Vec<Finding> {
    let pools = &context.cluster.facts.node_pools;
    if pools.is_empty() {
        return Vec::new();
    }
    context.rule_context.pods.iter().filter_map(|pod| unschedulable(pod, pools)).collect()
}

fn unschedulable(pod: &PodTemplate<'_>, pools: &[NodePool]) -> Option<Finding> {
    let required =
        |key: &str| pod.spec.pointer(&format!("/nodeSelector/kubernetes.io~1{key}")).and_then(Value::as_str);
    let matches = |pool: &&NodePool| {
        required("arch").is_none_or(|arch| arch == pool.architecture)
            && required("os").is_none_or(|os| os == pool.os)
    };
    let mut candidates = pools.iter().filter(matches).peekable();
    let finding = |path: &str, message: String, hint: &str| {
        Some(pod.owner.finding(("G408", Severity::Warning), &pod.spec_pointer(path), message, hint))
    };
    if candidates.peek().is_none() {
        let available: Vec<String> =
            pools.iter().map(|pool| format!("{}/{}", pool.os, pool.architecture)).collect();
        let message = format!(
            "No node matches the nodeSelector of {}; the nodes are {}.",
            pod.owner.display_name,
            available.join(", ")
        );
        return finding("/nodeSelector", message, "Change the nodeSelector, or exclude these clusters.");
    }
    let (cpu, memory) = (pod_amount(pod, "requests", "cpu"), pod_amount(pod, "requests", "memory"));
    let (mut largest_cpu, mut largest_memory) = (Quantity::ZERO, Quantity::ZERO);
    for pool in candidates {
        if pool.ready > 0 && cpu <= pool.largest_cpu && memory <= pool.largest_memory {
            return None;
        }
        largest_cpu = largest_cpu.max(pool.largest_cpu);
        largest_memory = largest_memory.max(pool.largest_memory);
    }
    let message = format!(
        "A pod of {} requests {cpu} cores and {}, and the largest node has {largest_cpu} and {}: it would stay Pending.",
        pod.owner.display_name,
        memory.format_bytes(),
        largest_memory.format_bytes()
    );
    finding("", message, "Request less, or add larger nodes.")
}

/// The request or limit of one pod as the scheduler calculates it: the sum of its containers, or its largest init
/// container if that is more.
fn pod_amount(pod: &PodTemplate<'_>, list: &str, what: &str) -> Quantity {
    if what == "pods" {
        return Quantity::from_units(1);
    }
    let amount = |container: &Container<'_>| container_amount(container, list, what).unwrap_or_default();
    let running: Quantity = pod.containers.iter().filter(|container| !container.is_init).map(amount).sum();
    let init = pod.containers.iter().filter(|container| container.is_init).map(amount).max();
    running.max(init.unwrap_or_default())
}

/// The request or limit of a container; a missing request defaults to the limit.
fn container_amount(container: &Container<'_>, list: &str, what: &str) -> Option<Quantity> {
    let resources = &container.value["resources"];
    let amount = |list: &str| Quantity::from_json(&resources[list][what]);
    amount(list).or_else(|| amount("limits").filter(|_| list == "requests"))
}

/// Number of pods that run at the same time.
fn pod_count(context: &ClusterContext<'_>, pod: &PodTemplate<'_>) -> u32 {
    let owner = pod.owner;
    let number =
        |path: &str| integer(owner.get(path)).map_or(1, |n| u32::try_from(n.max(0)).unwrap_or(u32::MAX));
    match &*owner.name.kind {
        "Pod" => 1,
        "DaemonSet" => context.cluster.facts.nodes.unwrap_or(1),
        "Job" => number("/spec/parallelism"),
        "CronJob" => number("/spec/jobTemplate/spec/parallelism"),
        _ => number("/spec/replicas"),
    }
}
