//! Events, as controllers and kubelets tell what they meet. One object per reason and subject, counting.

use serde_json::{Value, json};

use super::Works;
use crate::object::{self, int, text};

/// Tells something about an object.
pub(crate) fn tell(works: &mut Works, about: &Value, (kind, reason): (&str, &str), message: &str) {
    let Some(events) = works.kind("", "Event") else { return };
    let (namespace, name) = (object::namespace(about), object::name(about));
    let namespace = if namespace.is_empty() { "default" } else { namespace };
    let mark = crate::clockwork::pods::hash(&format!("{}{reason}{message}", object::uid(about)));
    let event_name = format!("{name}.{mark}");
    let now = works.sim.clock.stamp();
    let key = crate::store::key(namespace, &event_name);
    if let Some(found) = works.sim.store.get(events.id, &key) {
        works.edit(&events, &found.value, "", |event| {
            object::put(event, "count", int(event, "count").unwrap_or(0) + 1);
            object::put(event, "lastTimestamp", now.clone());
        });
        return;
    }
    let component = match text(about, "kind") {
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
            "uid": object::uid(about), "resourceVersion": text(about, "metadata.resourceVersion"),
        },
        "type": kind, "reason": reason, "message": message, "count": 1, "firstTimestamp": now,
        "lastTimestamp": now, "source": {"component": component}, "reportingComponent": component,
        "reportingInstance": "",
    });
    if let Err(message) = works.create(&events, event) {
        tracing::debug!(message, "event not written");
    }
}
