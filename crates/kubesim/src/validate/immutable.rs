//! What may not change once an object exists.

use serde_json::Value;

use crate::kinds::Kind;
use crate::object::{at, flag, list, remove, text};
use crate::status::Cause;

const STATEFUL: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
    'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const POD: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const CLAIM: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

pub(super) fn check(kind: &Kind, old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if kind.custom {
        return;
    }
    let mut fixed = |path: &str, detail: &str| {
        if at(old, path) != at(new, path) {
            causes.push(Cause::invalid(path, at(new, path).unwrap_or(&Value::Null), detail));
        }
    };
    const IMMUTABLE: &str = "field is immutable";
    match (&*kind.group, &*kind.kind) {
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => fixed("spec.selector", IMMUTABLE),
        ("batch", "Job") => {
            for path in ["spec.selector", "spec.template", "spec.completionMode"] {
                fixed(path, IMMUTABLE);
            }
            if text(new, "spec.completionMode") != "Indexed" {
                fixed("spec.completions", IMMUTABLE);
            }
        }
        ("apps", "StatefulSet") => {
            let free = [
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ];
            forbid_outside(old, new, &free, STATEFUL, causes);
        }
        ("", "Service") => service(old, new, causes),
        ("", "ConfigMap") => sealed(old, new, &["data", "binaryData"], causes),
        ("", "Secret") => {
            fixed("type", IMMUTABLE);
            sealed(old, new, &["data"], causes);
        }
        ("", "PersistentVolumeClaim") => {
            let free = ["resources", "volumeAttributesClassName", "volumeName"];
            forbid_outside(old, new, &free, CLAIM, causes);
        }
        ("", "Pod") => pod(old, new, causes),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            fixed("roleRef", "cannot change roleRef")
        }
        ("storage.k8s.io", "StorageClass") => {
            for path in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
                if at(old, path) != at(new, path) {
                    causes.push(Cause::forbidden(path, &format!("updates to {path} are forbidden.")));
                }
            }
        }
        ("networking.k8s.io", "IngressClass") => fixed("spec.controller", IMMUTABLE),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            fixed("spec.scope", IMMUTABLE);
            fixed("spec.group", IMMUTABLE);
        }
        _ => {}
    }
}

fn without(object: &Value, free: &[&str]) -> Value {
    let mut spec = object.get("spec").cloned().unwrap_or_default();
    free.iter().for_each(|f| drop(remove(&mut spec, f)));
    spec
}

fn forbid_outside(old: &Value, new: &Value, free: &[&str], detail: &str, causes: &mut Vec<Cause>) {
    if without(old, free) != without(new, free) {
        causes.push(Cause::forbidden("spec", detail));
    }
}

fn service(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let (before, after) = (text(old, "spec.clusterIP"), text(new, "spec.clusterIP"));
    let external = text(old, "spec.type") == "ExternalName" || text(new, "spec.type") == "ExternalName";
    if !before.is_empty() && before != after && !external {
        let shown = at(new, "spec.clusterIPs").cloned().unwrap_or_else(|| vec![after].into());
        causes.push(Cause::invalid("spec.clusterIPs[0]", &shown, "may not change once set"));
    }
}

fn sealed(old: &Value, new: &Value, fields: &[&str], causes: &mut Vec<Cause>) {
    if !flag(old, "immutable") {
        return;
    }
    const WHY: &str = "field is immutable when `immutable` is set";
    if !flag(new, "immutable") {
        causes.push(Cause::forbidden("immutable", WHY));
    }
    for field in fields.iter().filter(|f| at(old, f) != at(new, f)) {
        causes.push(Cause::forbidden(*field, WHY));
    }
}

fn pod(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    let comparable = |object: &Value| {
        let mut spec =
            without(object, &["activeDeadlineSeconds", "tolerations", "nodeName", "ephemeralContainers"]);
        for kind in ["containers", "initContainers"] {
            for container in spec.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
                remove(container, "image");
                remove(container, "imagePullPolicy");
            }
        }
        spec
    };
    let moved =
        !text(old, "spec.nodeName").is_empty() && text(old, "spec.nodeName") != text(new, "spec.nodeName");
    let fewer = list(old, "spec.tolerations").iter().any(|t| !list(new, "spec.tolerations").contains(t));
    if moved || fewer || comparable(old) != comparable(new) {
        causes.push(Cause::forbidden("spec", POD));
    }
}
