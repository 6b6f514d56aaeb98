//! Nodes, their capacity and usage, and the scheduler.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::{ControllerContext, claim};
use crate::cluster::SimState;
use crate::object::{self, array_at, map_at, str_at, value_at};
use crate::quantity::FormattedQuantity;

/// A node as its kubelet reports it.
pub(crate) fn node_manifest(sim: &SimState, number: u32) -> Value {
    let name = format!("{}-node-{}", sim.options.name, number + 1);
    let now = sim.clock.now_rfc3339();
    let mut labels = json!({
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64",
    });
    for (key, value) in &sim.options.node_labels {
        labels[key] = value.as_str().into();
    }
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": reason, "lastHeartbeatTime": now,
            "lastTransitionTime": now,
        })
    };
    let offer = json!({"cpu": "16", "memory": "64Gi", "pods": "500", "ephemeral-storage": "500Gi"});
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {"podCIDR": format!("10.244.{number}.0/24")},
        "status": {
            "capacity": offer, "allocatable": offer,
            "addresses": [
                {"type": "InternalIP", "address": format!("172.18.0.{}", number + 2)},
                {"type": "Hostname", "address": name},
            ],
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                condition("Ready", "True", "KubeletReady"),
            ],
            "nodeInfo": {
                "kubeletVersion": sim.options.version, "operatingSystem": "linux", "architecture": "amd64",
                "kubeProxyVersion": sim.options.version, "containerRuntimeVersion": "containerd://2.1.0",
                "kernelVersion": "6.8.0", "osImage": "Simulated Linux", "machineID": "", "systemUUID": "",
                "bootID": "",
            },
        },
    })
}

/// The requests of the pods on each node: thousandths of a core, bytes, pods.
#[derive(Default)]
pub(crate) struct NodeUsage {
    pods: HashMap<String, (String, [i64; 3])>,
    nodes: HashMap<String, [i64; 3]>,
}

impl NodeUsage {
    /// Updates the usage for a pod that was bound, has finished or was deleted.
    pub(crate) fn record_pod(&mut self, key: &str, pod: &Value, gone: bool) {
        let node = str_at(pod, "spec.nodeName");
        let gone = gone || matches!(str_at(pod, "status.phase"), "Succeeded" | "Failed");
        if gone || node.is_empty() {
            if let Some((node, requested)) = self.pods.remove(key) {
                add_request(self.nodes.entry(node).or_default(), requested, -1);
            }
        } else if !self.pods.contains_key(key) {
            let requested = pod_request(pod);
            add_request(self.nodes.entry(node.to_owned()).or_default(), requested, 1);
            self.pods.insert(key.to_owned(), (node.to_owned(), requested));
        }
    }
}

fn add_request(sum: &mut [i64; 3], requested: [i64; 3], sign: i64) {
    for (have, more) in sum.iter_mut().zip(requested) {
        *have += more * sign;
    }
}

/// The requests of a pod.
fn pod_request(pod: &Value) -> [i64; 3] {
    let mut requested = [0, 0, 1];
    for container in array_at(pod, "spec.containers") {
        let amount = |name: &str| {
            let requests = map_at(container, "resources.requests")?;
            requests.get(name)?.as_str().and_then(FormattedQuantity::parse)
        };
        requested[0] += amount("cpu").map_or(0, FormattedQuantity::to_milli);
        requested[1] += amount("memory").map_or(0, FormattedQuantity::to_units);
    }
    requested
}

/// Selects a node for the pod.
///
/// # Errors
/// The scheduler's message if no node fits.
pub(crate) fn schedule_pod(ctx: &mut ControllerContext, pod: &Value) -> Result<String, String> {
    let Some(kind) = ctx.builtin_kind("", "Node") else { return Err("no nodes available".into()) };
    let nodes = ctx.sim.store.list(kind.id, None).0;
    let requested = pod_request(pod);
    let mut reasons: HashMap<&'static str, usize> = HashMap::new();
    let mut best: Option<(i64, String)> = None;
    let forced = ctx.sim.faults.is_unschedulable(object::name(pod));
    if has_unbound_claim(ctx, pod) {
        let total = nodes.len();
        return Err(format!(
            "0/{total} nodes are available: pod has unbound immediate PersistentVolumeClaims. preemption: 0/{total} nodes \
             are available: {total} Preemption is not helpful for scheduling."
        ));
    }
    for node in &nodes {
        let name = object::name(&node.value);
        let used = ctx.state.node_usage.nodes.get(name).copied().unwrap_or_default();
        let why =
            if forced { Some("Insufficient cpu") } else { unfit_reason(&node.value, pod, requested, used) };
        match why {
            Some(why) => *reasons.entry(why).or_default() += 1,
            None if best.as_ref().is_none_or(|(least, _)| used[2] < *least) => {
                best = Some((used[2], name.to_owned()))
            }
            None => {}
        }
    }
    if let Some((_, name)) = best {
        return Ok(name);
    }
    let mut reasons: Vec<String> = reasons.iter().map(|(why, n)| format!("{n} {why}")).collect();
    reasons.sort();
    let total = nodes.len();
    if total == 0 {
        return Err("no nodes available to schedule pods".into());
    }
    Err(format!(
        "0/{total} nodes are available: {}. preemption: 0/{total} nodes are available: {total} No preemption victims \
         found for incoming pod.",
        reasons.join(", ")
    ))
}

/// Whether a claim of the pod exists and has no volume yet, although its class binds at once.
fn has_unbound_claim(ctx: &mut ControllerContext, pod: &Value) -> bool {
    claim::claim_names(pod).any(|name| {
        let key = crate::store::object_key(object::namespace(pod), name);
        ctx.get_object("", "PersistentVolumeClaim", &key).is_some_and(|claim| {
            object::str_at(&claim.value, "status.phase") != "Bound"
                && !claim::is_unused_late_claim(ctx, &claim.value)
        })
    })
}

fn unfit_reason(node: &Value, pod: &Value, requested: [i64; 3], used: [i64; 3]) -> Option<&'static str> {
    if object::bool_at(node, "spec.unschedulable") {
        return Some("node(s) were unschedulable");
    }
    if !matches_node_selector(node, pod) {
        return Some("node(s) didn't match Pod's node affinity/selector");
    }
    let offer = |name: &str| str_at(node, &format!("status.allocatable.{name}")).to_owned();
    let limits = [
        (FormattedQuantity::parse(&offer("cpu")).map_or(0, FormattedQuantity::to_milli), "Insufficient cpu"),
        (
            FormattedQuantity::parse(&offer("memory")).map_or(0, FormattedQuantity::to_units),
            "Insufficient memory",
        ),
        (FormattedQuantity::parse(&offer("pods")).map_or(0, FormattedQuantity::to_units), "Too many pods"),
    ];
    (0..3).find(|i| requested[*i] + used[*i] > limits[*i].0).map(|i| limits[i].1)
}

/// Whether the node's labels match the pod's node selector.
pub(crate) fn matches_node_selector(node: &Value, pod: &Value) -> bool {
    let Some(selector) = value_at(pod, "spec.nodeSelector") else { return true };
    crate::selector::LabelRequirements::from_value(&json!({"matchLabels": selector})).selects(node)
}
