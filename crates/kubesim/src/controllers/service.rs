//! Services: endpoint slices, and an external address for type LoadBalancer.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{ControllerContext, owner_reference, pods};
use crate::object::{self, array_at, i64_at, set_value, str_at, value_at};
use crate::selector::LabelRequirements;
use crate::store;

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let service = ctx.get_object("", "Service", key)?;
    let service = &service.value;
    if object::is_deleting(service) {
        return None;
    }
    if str_at(service, "spec.type") != "ExternalName" {
        write_endpoint_slice(ctx, service);
    }
    if str_at(service, "spec.type") == "LoadBalancer" {
        return assign_address(ctx, service);
    }
    if !array_at(service, "status.loadBalancer.ingress").is_empty() {
        let kind = ctx.builtin_kind("", "Service")?;
        ctx.update_status(&kind, service, |live| set_value(live, "status.loadBalancer", json!({})));
    }
    None
}

fn write_endpoint_slice(ctx: &mut ControllerContext, service: &Value) -> Option<()> {
    let selector = value_at(service, "spec.selector")?;
    let selector = LabelRequirements::from_value(selector);
    let pods_kind = ctx.builtin_kind("", "Pod")?;
    let namespace = object::namespace(service).to_owned();
    let chosen: Vec<_> = ctx
        .sim
        .store
        .list(pods_kind.id, Some(&namespace))
        .0
        .into_iter()
        .filter(|p| selector.selects(&p.value) && !str_at(&p.value, "status.podIP").is_empty())
        .filter(|p| !matches!(str_at(&p.value, "status.phase"), "Succeeded" | "Failed"))
        .collect();
    let ports: Vec<Value> =
        array_at(service, "spec.ports").iter().map(|p| resolve_port(p, &chosen)).collect();
    let endpoints: Vec<Value> = chosen.iter().map(|pod| build_endpoint(&pod.value)).collect();
    let kind = ctx.builtin_kind("discovery.k8s.io", "EndpointSlice")?;
    let name = format!("{}-{}", object::name(service), &pods::short_hash(object::uid(service))[..5]);
    let found = ctx.sim.store.get(kind.id, &store::object_key(&namespace, &name));
    if let Some(found) = found {
        ctx.edit_object(&kind, &found.value, "", |slice| {
            set_value(slice, "endpoints", endpoints.clone());
            set_value(slice, "ports", ports.clone());
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
    if let Err(message) = ctx.create_object(&kind, slice) {
        tracing::debug!(message, "the endpoint slice was not created");
    }
    Some(())
}

/// An endpoint port; a named target port is resolved in the pods.
fn resolve_port(port: &Value, chosen: &[std::sync::Arc<store::StoredObject>]) -> Value {
    let number = match value_at(port, "targetPort") {
        Some(Value::String(name)) => {
            let containers = chosen.iter().flat_map(|p| array_at(&p.value, "spec.containers"));
            let mut ports = containers.flat_map(|c| array_at(c, "ports"));
            ports.find(|p| str_at(p, "name") == name).and_then(|p| i64_at(p, "containerPort"))
        }
        Some(number) => number.as_i64(),
        None => i64_at(port, "port"),
    };
    let mut out = json!({"name": str_at(port, "name"), "protocol": str_at(port, "protocol")});
    if let Some(number) = number {
        out["port"] = number.into();
    }
    out
}

fn build_endpoint(pod: &Value) -> Value {
    let (ready, going) = (pods::is_ready(pod), object::is_deleting(pod));
    json!({
        "addresses": [str_at(pod, "status.podIP")],
        "conditions": {"ready": ready && !going, "serving": ready, "terminating": going},
        "nodeName": str_at(pod, "spec.nodeName"),
        "targetRef": {
            "kind": "Pod", "name": object::name(pod), "namespace": object::namespace(pod), "uid": object::uid(pod),
        },
    })
}

/// Assigns the load balancer's address after a delay.
fn assign_address(ctx: &mut ControllerContext, service: &Value) -> Option<Duration> {
    if !array_at(service, "status.loadBalancer.ingress").is_empty() {
        return None;
    }
    let uid = object::uid(service).to_owned();
    let moment = Instant::now() + ctx.sim.options.pod_start;
    let due = *ctx.state.due_times.entry(uid.clone()).or_insert(moment);
    if let Some(left) = ctx.time_until(due) {
        return Some(left);
    }
    ctx.state.due_times.remove(&uid);
    let ip = crate::defaults::format_address("172.19", ctx.sim.next_serial());
    let kind = ctx.builtin_kind("", "Service")?;
    ctx.update_status(&kind, service, |live| {
        set_value(live, "status.loadBalancer.ingress", vec![json!({"ip": ip, "ipMode": "VIP"})]);
    });
    None
}
