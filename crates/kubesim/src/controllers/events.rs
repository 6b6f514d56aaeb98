//! Events of controllers and kubelets: one object per involved object, reason and message, with a count.

use serde_json::{Value, json};

use super::ControllerContext;
use crate::object::{self, i64_at, str_at};

/// Records an event about an object.
pub(crate) fn record_event(
    ctx: &mut ControllerContext,
    about: &Value,
    (kind, reason): (&str, &str),
    message: &str,
) {
    let Some(events) = ctx.builtin_kind("", "Event") else { return };
    let (namespace, name) = (object::namespace(about), object::name(about));
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    let mark = crate::controllers::pods::short_hash(&format!("{}{reason}{message}", object::uid(about)));
    let event_name = format!("{name}.{mark}");
    let now = ctx.sim.clock.now_rfc3339();
    let key = crate::store::object_key(namespace, &event_name);
    if let Some(found) = ctx.sim.store.get(events.id, &key) {
        ctx.edit_object(&events, &found.value, "", |event| {
            object::set_value(event, "count", i64_at(event, "count").unwrap_or(0) + 1);
            object::set_value(event, "lastTimestamp", now.clone());
        });
        return;
    }
    let component = match str_at(about, "kind") {
        "Pod" if reason == "FailedScheduling" => "default-scheduler",
        "Pod" => "kubelet",
        "Deployment" => "deployment-controller",
        "ReplicaSet" => "replicaset-controller",
        "StatefulSet" => "statefulset-controller",
        "DaemonSet" => "daemonset-controller",
        "Job" => "job-controller",
        _ => "controllermanager",
    };
    let event = json!({
        "apiVersion": "v1", "kind": "Event", "metadata": {"name": event_name, "namespace": namespace},
        "involvedObject": {
            "apiVersion": about["apiVersion"], "kind": about["kind"], "name": name, "namespace": namespace,
            "uid": object::uid(about), "resourceVersion": str_at(about, "metadata.resourceVersion"),
        },
        "type": kind, "reason": reason, "message": message, "count": 1, "firstTimestamp": now,
        "lastTimestamp": now, "source": {"component": component}, "reportingComponent": component,
        "reportingInstance": "",
    });
    if let Err(message) = ctx.create_object(&events, event) {
        tracing::debug!(message, "the event was not created");
    }
}
