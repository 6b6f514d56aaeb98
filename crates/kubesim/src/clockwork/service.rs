//! Services: endpoint slices, and an address for those of type LoadBalancer.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Works, owner_reference, pods};
use crate::object::{self, at, int, list, put, text};
use crate::selector::LabelSelector;
use crate::store;

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let service = works.get("", "Service", key)?;
    let service = &service.value;
    if object::deleting(service) {
        return None;
    }
    if text(service, "spec.type") != "ExternalName" {
        endpoints(works, service);
    }
    if text(service, "spec.type") == "LoadBalancer" {
        return address(works, service);
    }
    if !list(service, "status.loadBalancer.ingress").is_empty() {
        let kind = works.kind("", "Service")?;
        works.status(&kind, service, |live| put(live, "status.loadBalancer", json!({})));
    }
    None
}

fn endpoints(works: &mut Works, service: &Value) -> Option<()> {
    let selector = at(service, "spec.selector")?;
    let selector = LabelSelector::of(selector);
    let pods_kind = works.kind("", "Pod")?;
    let namespace = object::namespace(service).to_owned();
    let chosen: Vec<_> = works
        .sim
        .store
        .list(pods_kind.id, Some(&namespace))
        .0
        .into_iter()
        .filter(|p| selector.selects(&p.value) && !text(&p.value, "status.podIP").is_empty())
        .filter(|p| !matches!(text(&p.value, "status.phase"), "Succeeded" | "Failed"))
        .collect();
    let ports: Vec<Value> = list(service, "spec.ports").iter().map(|p| port(p, &chosen)).collect();
    let endpoints: Vec<Value> = chosen.iter().map(|pod| endpoint(&pod.value)).collect();
    let kind = works.kind("discovery.k8s.io", "EndpointSlice")?;
    let name = format!("{}-{}", object::name(service), &pods::hash(object::uid(service))[..5]);
    let found = works.sim.store.get(kind.id, &store::key(&namespace, &name));
    if let Some(found) = found {
        works.edit(&kind, &found.value, "", |slice| {
            put(slice, "endpoints", endpoints.clone());
            put(slice, "ports", ports.clone());
        });
        return Some(());
    }
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
        "metadata": {
            "name": name, "namespace": namespace, "ownerReferences": [owner_reference(service)],
            "labels": {
                "kubernetes.io/service-name": object::name(service),
                "endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io",
            },
        },
        "endpoints": endpoints, "ports": ports,
    });
    if let Err(message) = works.create(&kind, slice) {
        tracing::debug!(message, "endpoint slice not written");
    }
    Some(())
}

/// A port with the number its name stands for in the pods.
fn port(port: &Value, chosen: &[std::sync::Arc<store::Stored>]) -> Value {
    let number = match at(port, "targetPort") {
        Some(Value::String(name)) => {
            let containers = chosen.iter().flat_map(|p| list(&p.value, "spec.containers"));
            let mut ports = containers.flat_map(|c| list(c, "ports"));
            ports.find(|p| text(p, "name") == name).and_then(|p| int(p, "containerPort"))
        }
        Some(number) => number.as_i64(),
        None => int(port, "port"),
    };
    let mut out = json!({"name": text(port, "name"), "protocol": text(port, "protocol")});
    if let Some(number) = number {
        out["port"] = number.into();
    }
    out
}

fn endpoint(pod: &Value) -> Value {
    let (ready, going) = (pods::ready(pod), object::deleting(pod));
    json!({
        "addresses": [text(pod, "status.podIP")],
        "conditions": {"ready": ready && !going, "serving": ready, "terminating": going},
        "nodeName": text(pod, "spec.nodeName"),
        "targetRef": {
            "kind": "Pod", "name": object::name(pod), "namespace": object::namespace(pod), "uid": object::uid(pod),
        },
    })
}

/// After a moment a load balancer has its address.
fn address(works: &mut Works, service: &Value) -> Option<Duration> {
    if !list(service, "status.loadBalancer.ingress").is_empty() {
        return None;
    }
    let uid = object::uid(service).to_owned();
    let moment = Instant::now() + works.sim.options.pod_start;
    let due = *works.memory.due.entry(uid.clone()).or_insert(moment);
    if let Some(left) = works.until(due) {
        return Some(left);
    }
    works.memory.due.remove(&uid);
    let ip = crate::defaults::address("172.19", works.sim.next());
    let kind = works.kind("", "Service")?;
    works.status(&kind, service, |live| {
        put(live, "status.loadBalancer.ingress", vec![json!({"ip": ip, "ipMode": "VIP"})]);
    });
    None
}
