//! Nodes, what they offer and what is used of it.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::Works;
use crate::cluster::Sim;
use crate::object::{self, at, list, map, text};
use crate::quantity::Quantity;

/// A node as its kubelet reports it.
pub(crate) fn manifest(sim: &Sim, number: u32) -> Value {
    let name = format!("{}-node-{}", sim.options.name, number + 1);
    let now = sim.clock.stamp();
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

/// What pods ask of each node: thousandths of a core, bytes, pods.
#[derive(Default)]
pub(crate) struct Usage {
    pods: HashMap<String, (String, [i64; 3])>,
    nodes: HashMap<String, [i64; 3]>,
}

impl Usage {
    /// Keeps count of a pod that was bound, finished or went.
    pub(crate) fn note(&mut self, key: &str, pod: &Value, gone: bool) {
        let node = text(pod, "spec.nodeName");
        let gone = gone || matches!(text(pod, "status.phase"), "Succeeded" | "Failed");
        if gone || node.is_empty() {
            if let Some((node, asked)) = self.pods.remove(key) {
                add(self.nodes.entry(node).or_default(), asked, -1);
            }
        } else if !self.pods.contains_key(key) {
            let asked = request(pod);
            add(self.nodes.entry(node.to_owned()).or_default(), asked, 1);
            self.pods.insert(key.to_owned(), (node.to_owned(), asked));
        }
    }
}

fn add(sum: &mut [i64; 3], asked: [i64; 3], sign: i64) {
    for (have, more) in sum.iter_mut().zip(asked) {
        *have += more * sign;
    }
}

/// What a pod asks for.
fn request(pod: &Value) -> [i64; 3] {
    let mut asked = [0, 0, 1];
    for container in list(pod, "spec.containers") {
        let amount = |name: &str| {
            let requests = map(container, "resources.requests")?;
            requests.get(name)?.as_str().and_then(Quantity::parse)
        };
        asked[0] += amount("cpu").map_or(0, Quantity::milli);
        asked[1] += amount("memory").map_or(0, Quantity::whole);
    }
    asked
}

/// A node for the pod, or the scheduler's sentence why there is none.
pub(crate) fn schedule(works: &mut Works, pod: &Value) -> Result<String, String> {
    let Some(kind) = works.kind("", "Node") else { return Err("no nodes available".into()) };
    let nodes = works.sim.store.list(kind.id, None).0;
    let asked = request(pod);
    let mut reasons: HashMap<&'static str, usize> = HashMap::new();
    let mut best: Option<(i64, String)> = None;
    let forced = works.sim.faults.unschedulable(object::name(pod));
    for node in &nodes {
        let name = object::name(&node.value);
        let used = works.memory.nodes.nodes.get(name).copied().unwrap_or_default();
        let why = if forced { Some("Insufficient cpu") } else { misfit(&node.value, pod, asked, used) };
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

fn misfit(node: &Value, pod: &Value, asked: [i64; 3], used: [i64; 3]) -> Option<&'static str> {
    if object::flag(node, "spec.unschedulable") {
        return Some("node(s) were unschedulable");
    }
    if !selects(node, pod) {
        return Some("node(s) didn't match Pod's node affinity/selector");
    }
    let offer = |name: &str| text(node, &format!("status.allocatable.{name}")).to_owned();
    let limits = [
        (Quantity::parse(&offer("cpu")).map_or(0, Quantity::milli), "Insufficient cpu"),
        (Quantity::parse(&offer("memory")).map_or(0, Quantity::whole), "Insufficient memory"),
        (Quantity::parse(&offer("pods")).map_or(0, Quantity::whole), "Too many pods"),
    ];
    (0..3).find(|i| asked[*i] + used[*i] > limits[*i].0).map(|i| limits[i].1)
}

/// Whether the node has the labels the pod asks for.
pub(crate) fn selects(node: &Value, pod: &Value) -> bool {
    let Some(selector) = at(pod, "spec.nodeSelector") else { return true };
    crate::selector::LabelSelector::of(&json!({"matchLabels": selector})).selects(node)
}
