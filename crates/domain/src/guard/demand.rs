//! What pods ask of a cluster, against its quotas and its nodes (G407, G408).

use std::collections::BTreeMap;

use serde_json::Value;

use super::scene::{Container, Pod, integer, quoted};
use super::site::Site;
use crate::cluster::{NodePool, Quota};
use crate::finding::{Finding, Severity};
use crate::quantity::Quantity;

/// G407: quotas of the namespaces. What is more than a quota has at all can never run; what is more than is left may
/// already run, because what is used holds this workload's own share.
pub(super) fn quotas(site: &Site<'_>) -> Vec<Finding> {
    let mut by_namespace: BTreeMap<&str, Vec<&Pod<'_>>> = BTreeMap::new();
    for pod in &site.scene.pods {
        by_namespace.entry(&pod.owner.name.namespace).or_default().push(pod);
    }
    let mut findings = Vec::new();
    for (namespace, pods) in by_namespace {
        let Some(facts) = site.cluster.facts.namespace(namespace) else { continue };
        for quota in &facts.quotas {
            for (resource, hard) in &quota.hard {
                findings.extend(over(site, namespace, &pods, (quota, resource, *hard)));
            }
            findings.extend(pods.iter().filter_map(|pod| unsaid(pod, namespace, quota)));
        }
    }
    findings
}

fn over(
    site: &Site<'_>,
    namespace: &str,
    pods: &[&Pod<'_>],
    (quota, resource, hard): (&Quota, &str, Quantity),
) -> Option<Finding> {
    let (list, what) = kind(resource)?;
    let need: Quantity = pods.iter().map(|pod| asked(pod, list, what).times(copies(site, pod))).sum();
    let used = quota.used.get(resource).copied().unwrap_or_default();
    let shown = |amount: Quantity| if what == "memory" { amount.in_bytes() } else { amount.to_string() };
    let name = quoted(&quota.name);
    if need > hard {
        let message = format!(
            "Quota {name} of namespace {} allows {resource} {}, and this needs {}: some of its pods can never start.",
            quoted(namespace),
            shown(hard),
            shown(need)
        );
        return Some(Finding::error(
            "G407",
            message,
            "Ask for less, run fewer replicas there, or raise the quota.",
        ));
    }
    let stuck = |pod: &&&Pod<'_>| adds_before_it_removes(pod) && need + asked(pod, list, what) > hard;
    if let Some(pod) = pods.iter().find(stuck) {
        let message = format!(
            "Quota {name} of namespace {} allows {resource} {}, and this needs {}: {} starts a new pod before it stops an old one, so no update of it could go through.",
            quoted(namespace),
            shown(hard),
            shown(need),
            pod.owner.shown
        );
        let hint = "Let it stop one first (strategy.rollingUpdate.maxUnavailable: 1), or raise the quota.";
        return Some(Finding::warning("G407", message, hint));
    }
    let left = hard - used;
    (need > left).then(|| {
        let message = format!(
            "Quota {name} of namespace {} has {resource} {} left, and this needs {}. What already runs of it counts as used.",
            quoted(namespace),
            shown(left.max(Quantity::ZERO)),
            shown(need)
        );
        Finding::warning("G407", message, "Make sure that it fits, or raise the quota.")
    })
}

/// Whether an update of a Deployment has to have one pod more than its replicas. Fewer than four replicas do, unless the
/// manifest says otherwise: a quarter of them is none.
fn adds_before_it_removes(pod: &Pod<'_>) -> bool {
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
    let none_more = owner.get(&format!("{rolling}/maxSurge")).is_some_and(|most| *most == 0 || *most == "0%");
    owner.is("apps", "Deployment")
        && owner.text("/spec/strategy/type") != "Recreate"
        && replicas > 0
        && share("maxUnavailable") == 0
        && !none_more
}

/// Which list of a container's resources a quota counts, and which resource of it; `None` for what is no pod's.
fn kind(resource: &str) -> Option<(&'static str, &'static str)> {
    Some(match resource {
        "cpu" | "requests.cpu" => ("requests", "cpu"),
        "memory" | "requests.memory" => ("requests", "memory"),
        "limits.cpu" => ("limits", "cpu"),
        "limits.memory" => ("limits", "memory"),
        "pods" | "count/pods" => ("", "pods"),
        _ => return None,
    })
}

/// A quota on a resource refuses pods that do not say how much of it they want, unless a LimitRange says it for them.
fn unsaid(pod: &Pod<'_>, namespace: &str, quota: &Quota) -> Option<Finding> {
    let wanted = |resource: &&String| kind(resource).filter(|(list, _)| !list.is_empty()).is_some();
    for resource in quota.hard.keys().filter(wanted) {
        let Some((list, what)) = kind(resource) else { continue };
        let silent = pod.containers.iter().find(|container| said(container, list, what).is_none());
        if let Some(container) = silent {
            let message = format!(
                "Quota {} of namespace {} counts {resource}, and container {} does not say its {list}.{what}: its pod is \
                 refused there, unless a LimitRange fills it in.",
                quoted(&quota.name),
                quoted(namespace),
                quoted(container.name)
            );
            let hint = format!("Set resources.{list}.{what}.");
            return Some(pod.owner.warning("G407", &container.path, message, &hint));
        }
    }
    None
}

/// G408: some node can hold one pod.
pub(super) fn nodes(site: &Site<'_>) -> Vec<Finding> {
    let pools = &site.cluster.facts.node_pools;
    if pools.is_empty() {
        return Vec::new();
    }
    site.scene.pods.iter().filter_map(|pod| homeless(pod, pools)).collect()
}

fn homeless(pod: &Pod<'_>, pools: &[NodePool]) -> Option<Finding> {
    let wants =
        |key: &str| pod.spec.pointer(&format!("/nodeSelector/kubernetes.io~1{key}")).and_then(Value::as_str);
    let fits = |pool: &&NodePool| {
        wants("arch").is_none_or(|arch| arch == pool.architecture)
            && wants("os").is_none_or(|os| os == pool.os)
    };
    let mut of_kind = pools.iter().filter(fits).peekable();
    let finding = |path: &str, message: String, hint: &str| {
        Some(pod.owner.finding(("G408", Severity::Warning), &pod.at(path), message, hint))
    };
    if of_kind.peek().is_none() {
        let there: Vec<String> =
            pools.iter().map(|pool| format!("{}/{}", pool.os, pool.architecture)).collect();
        let message = format!(
            "{} is for nodes of a kind that is not there: there is {}.",
            pod.owner.shown,
            there.join(", ")
        );
        return finding("/nodeSelector", message, "Change the nodeSelector, or leave these clusters out.");
    }
    let (cpu, memory) = (asked(pod, "requests", "cpu"), asked(pod, "requests", "memory"));
    let (mut largest_cpu, mut largest_memory) = (Quantity::ZERO, Quantity::ZERO);
    for pool in of_kind {
        if pool.ready > 0 && cpu <= pool.largest_cpu && memory <= pool.largest_memory {
            return None;
        }
        largest_cpu = largest_cpu.max(pool.largest_cpu);
        largest_memory = largest_memory.max(pool.largest_memory);
    }
    let message = format!(
        "A pod of {} asks for {cpu} cores and {}, and the largest node has {largest_cpu} and {}: it would stay Pending.",
        pod.owner.shown,
        memory.in_bytes(),
        largest_memory.in_bytes()
    );
    finding("", message, "Ask for less, or add larger nodes.")
}

/// What one pod asks for: its containers together, or its largest init container, as the scheduler reckons.
fn asked(pod: &Pod<'_>, list: &str, what: &str) -> Quantity {
    if what == "pods" {
        return Quantity::whole(1);
    }
    let of = |container: &Container<'_>| said(container, list, what).unwrap_or_default();
    let beside: Quantity = pod.containers.iter().filter(|container| !container.init).map(of).sum();
    let before = pod.containers.iter().filter(|container| container.init).map(of).max();
    beside.max(before.unwrap_or_default())
}

/// What a container says; a limit stands for a request that is not said.
fn said(container: &Container<'_>, list: &str, what: &str) -> Option<Quantity> {
    let resources = &container.value["resources"];
    let amount = |list: &str| Quantity::of(&resources[list][what]);
    amount(list).or_else(|| amount("limits").filter(|_| list == "requests"))
}

/// How many pods there would be at once.
fn copies(site: &Site<'_>, pod: &Pod<'_>) -> u32 {
    let owner = pod.owner;
    let number =
        |path: &str| integer(owner.get(path)).map_or(1, |n| u32::try_from(n.max(0)).unwrap_or(u32::MAX));
    match &*owner.name.kind {
        "Pod" => 1,
        "DaemonSet" => site.cluster.facts.nodes.unwrap_or(1),
        "Job" => number("/spec/parallelism"),
        "CronJob" => number("/spec/jobTemplate/spec/parallelism"),
        _ => number("/spec/replicas"),
    }
}
