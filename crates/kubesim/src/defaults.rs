//! The defaults of the real server, so that a comparison with the sent object yields the same differences.

mod pod;
mod service;
mod workload;

use serde_json::Value;

use crate::kinds::ResourceKind;
use crate::object::{set_default, str_at};

/// Fills in an object's defaults.
pub(crate) fn apply(kind: &ResourceKind, object: &mut Value) {
    if kind.is_custom {
        return;
    }
    match (&*kind.group, &*kind.kind) {
        ("apps", "Deployment") => workload::default_deployment(object),
        ("apps", "ReplicaSet") | ("", "ReplicationController") => workload::default_replica_set(object),
        ("apps", "StatefulSet") => workload::default_stateful_set(object),
        ("apps", "DaemonSet") => workload::default_daemon_set(object),
        ("batch", "Job") => workload::default_job(object),
        ("batch", "CronJob") => workload::default_cron_job(object),
        ("", "Pod") => pod::default_pod(object),
        ("", "PodTemplate") => pod::default_template(object, "template"),
        ("", "Service") => service::default_service(object),
        ("", "Secret") => default_secret(object),
        ("", "PersistentVolumeClaim") => default_claim(object, "spec"),
        ("", "PersistentVolume") => {
            set_default(object, "spec.persistentVolumeReclaimPolicy", "Retain");
            set_default(object, "spec.volumeMode", "Filesystem");
        }
        ("", "Namespace") => {
            let name = crate::object::name(object).to_owned();
            crate::object::value_at_mut(object, "metadata.labels")["kubernetes.io/metadata.name"] =
                name.into();
        }
        ("networking.k8s.io", "Ingress") => service::default_ingress(object),
        ("networking.k8s.io", "NetworkPolicy") => service::default_network_policy(object),
        ("storage.k8s.io", "StorageClass") => {
            set_default(object, "reclaimPolicy", "Delete");
            set_default(object, "volumeBindingMode", "Immediate");
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => default_binding(object),
        ("autoscaling", "HorizontalPodAutoscaler") => set_default(object, "spec.minReplicas", 1),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => default_definition(object),
        ("scheduling.k8s.io", "PriorityClass") => {
            set_default(object, "preemptionPolicy", "PreemptLowerPriority")
        }
        _ => {}
    }
}

pub(crate) use service::{allocate_addresses, format_address};

fn default_secret(object: &mut Value) {
    use base64::Engine as _;
    set_default(object, "type", "Opaque");
    let Some(Value::Object(plain)) = crate::object::remove_value(object, "stringData") else { return };
    for (key, value) in plain {
        let encoded = base64::engine::general_purpose::STANDARD.encode(value.as_str().unwrap_or(""));
        crate::object::value_at_mut(object, "data")[&key] = encoded.into();
    }
}

/// Defaults of a claim, including a StatefulSet's claim templates.
fn default_claim(object: &mut Value, path: &str) {
    set_default(object, &format!("{path}.volumeMode"), "Filesystem");
    let limit = crate::object::value_at(object, &format!("{path}.resources.limits.storage")).cloned();
    if let Some(limit) = limit {
        set_default(object, &format!("{path}.resources.requests.storage"), limit);
    }
}

fn default_binding(object: &mut Value) {
    set_default(object, "roleRef.apiGroup", "rbac.authorization.k8s.io");
    for subject in object.get_mut("subjects").and_then(Value::as_array_mut).into_iter().flatten() {
        if matches!(str_at(subject, "kind"), "User" | "Group") {
            set_default(subject, "apiGroup", "rbac.authorization.k8s.io");
        }
    }
}

fn default_definition(object: &mut Value) {
    set_default(object, "spec.conversion.strategy", "None");
    let kind = str_at(object, "spec.names.kind").to_owned();
    set_default(object, "spec.names.singular", kind.to_lowercase());
    set_default(object, "spec.names.listKind", format!("{kind}List"));
}
