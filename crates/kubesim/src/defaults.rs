//! What the real server fills in, so that comparing with what was sent meets the same differences.

mod pod;
mod service;
mod workload;

use serde_json::Value;

use crate::kinds::Kind;
use crate::object::{put_default, text};

/// Fills in an object's defaults.
pub(crate) fn apply(kind: &Kind, object: &mut Value) {
    if kind.custom {
        return;
    }
    match (&*kind.group, &*kind.kind) {
        ("apps", "Deployment") => workload::deployment(object),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => workload::replica_set(object),
        ("apps", "StatefulSet") => workload::stateful_set(object),
        ("apps", "DaemonSet") => workload::daemon_set(object),
        ("batch", "Job") => workload::job(object),
        ("batch", "CronJob") => workload::cron_job(object),
        ("", "Pod") => pod::pod(object),
        ("", "PodTemplate") => pod::template(object, "template"),
        ("", "Service") => service::service(object),
        ("", "Secret") => secret(object),
        ("", "PersistentVolumeClaim") => claim(object, "spec"),
        ("", "PersistentVolume") => {
            put_default(object, "spec.persistentVolumeReclaimPolicy", "Retain");
            put_default(object, "spec.volumeMode", "Filesystem");
        }
        ("", "Namespace") => {
            let name = crate::object::name(object).to_owned();
            crate::object::place(object, "metadata.labels")["kubernetes.io/metadata.name"] = name.into();
        }
        ("networking.k8s.io", "Ingress") => service::ingress(object),
        ("networking.k8s.io", "NetworkPolicy") => service::network_policy(object),
        ("storage.k8s.io", "StorageClass") => {
            put_default(object, "reclaimPolicy", "Delete");
            put_default(object, "volumeBindingMode", "Immediate");
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => binding(object),
        ("autoscaling", "HorizontalPodAutoscaler") => put_default(object, "spec.minReplicas", 1),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
        ("scheduling.k8s.io", "PriorityClass") => {
            put_default(object, "preemptionPolicy", "PreemptLowerPriority")
        }
        _ => {}
    }
}

pub(crate) use service::{address, allocate};

fn secret(object: &mut Value) {
    use base64::Engine as _;
    put_default(object, "type", "Opaque");
    let Some(Value::Object(plain)) = crate::object::remove(object, "stringData") else { return };
    for (key, value) in plain {
        let encoded = base64::engine::general_purpose::STANDARD.encode(value.as_str().unwrap_or(""));
        crate::object::place(object, "data")[&key] = encoded.into();
    }
}

/// A claim's defaults, also inside a StatefulSet's templates.
fn claim(object: &mut Value, path: &str) {
    put_default(object, &format!("{path}.volumeMode"), "Filesystem");
    let limit = crate::object::at(object, &format!("{path}.resources.limits.storage")).cloned();
    if let Some(limit) = limit {
        put_default(object, &format!("{path}.resources.requests.storage"), limit);
    }
}

fn binding(object: &mut Value) {
    put_default(object, "roleRef.apiGroup", "rbac.authorization.k8s.io");
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if matches!(text(subject, "kind"), "User" | "Group") {
            put_default(subject, "apiGroup", "rbac.authorization.k8s.io");
        }
    }
}

fn definition(object: &mut Value) {
    put_default(object, "spec.conversion.strategy", "None");
    let kind = text(object, "spec.names.kind").to_owned();
    put_default(object, "spec.names.singular", kind.to_lowercase());
    put_default(object, "spec.names.listKind", format!("{kind}List"));
}
