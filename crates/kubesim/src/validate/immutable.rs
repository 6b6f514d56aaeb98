//! Fields that are immutable after creation.

use serde_json::Value;

use crate::kinds::ResourceKind;
use crate::object::{array_at, bool_at, condition, remove_value, str_at, value_at};
use crate::quantity::FormattedQuantity;
use crate::status::StatusCause;

const MUTABLE_STATEFUL_SET_FIELDS: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];
const STATEFUL_SET_DETAIL: &str = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
    'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden";
const POD_DETAIL: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing \
    tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const CLAIM_DETAIL: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";

pub(super) fn check_immutable(kind: &ResourceKind, old: &Value, new: &Value, causes: &mut Vec<StatusCause>) {
    if kind.is_custom {
        check_unchanged_fields(kind, old, new, causes);
        return;
    }
    let mut fixed = |path: &str, detail: &str| {
        if value_at(old, path) != value_at(new, path) {
            causes.push(StatusCause::invalid(path, value_at(new, path).unwrap_or(&Value::Null), detail));
        }
    };
    const IMMUTABLE: &str = "field is immutable";
    match (&*kind.group, &*kind.kind) {
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => fixed("spec.selector", IMMUTABLE),
        ("batch", "Job") => {
            for path in ["spec.selector", "spec.template", "spec.completionMode"] {
                fixed(path, IMMUTABLE);
            }
            if str_at(new, "spec.completionMode") != "Indexed" {
                fixed("spec.completions", IMMUTABLE);
            }
        }
        ("apps", "StatefulSet") => {
            forbid_other_changes(old, new, &MUTABLE_STATEFUL_SET_FIELDS, STATEFUL_SET_DETAIL, causes)
        }
        ("", "Service") => check_service(old, new, causes),
        ("", "ConfigMap") => check_immutable_data(old, new, &["data", "binaryData"], causes),
        ("", "Secret") => {
            fixed("type", IMMUTABLE);
            check_immutable_data(old, new, &["data"], causes);
        }
        ("", "PersistentVolumeClaim") => {
            let free = ["resources", "volumeAttributesClassName", "volumeName"];
            forbid_other_changes(old, new, &free, CLAIM_DETAIL, causes);
            check_claim_size(old, new, causes);
        }
        ("", "PersistentVolume") => {
            const SOURCES: [&str; 4] = ["csi", "hostPath", "local", "nfs"];
            if SOURCES.iter().any(|source| old["spec"].get(source) != new["spec"].get(source)) {
                let detail = "spec.persistentvolumesource is immutable after creation";
                causes.push(StatusCause::forbidden("spec.persistentvolumesource", detail));
            }
        }
        ("", "Pod") => check_pod(old, new, causes),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            fixed("roleRef", "cannot change roleRef")
        }
        ("storage.k8s.io", "StorageClass") => {
            for path in ["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"] {
                if value_at(old, path) != value_at(new, path) {
                    causes.push(StatusCause::forbidden(path, &format!("updates to {path} are forbidden.")));
                }
            }
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            fixed("preemptionPolicy", IMMUTABLE);
            if value_at(old, "value") != value_at(new, "value") {
                causes.push(StatusCause::forbidden("value", "may not be changed in an update."));
            }
        }
        ("node.k8s.io", "RuntimeClass") => fixed("handler", IMMUTABLE),
        ("networking.k8s.io", "IngressClass") => fixed("spec.controller", IMMUTABLE),
        ("apiextensions.k8s.io", "CustomResourceDefinition") => {
            if condition(old, "Established").is_some_and(|found| str_at(found, "status") == "True") {
                fixed("spec.scope", IMMUTABLE);
                fixed("spec.names.kind", IMMUTABLE);
            }
            fixed("spec.group", IMMUTABLE);
            fixed("spec.names.plural", IMMUTABLE);
        }
        _ => {}
    }
}

/// A rule with `oldSelf` counts where both objects have the field.
fn check_unchanged_fields(kind: &ResourceKind, old: &Value, new: &Value, causes: &mut Vec<StatusCause>) {
    for field in &kind.storage_version().unchanged_fields {
        let values = value_at(old, &field.path).zip(value_at(new, &field.path));
        if values.is_some_and(|(before, after)| before != after) {
            let shown = Value::from(field.type_name.as_str());
            causes.push(StatusCause::invalid(&field.path, &shown, &field.message));
        }
    }
}

fn spec_without(object: &Value, free: &[&str]) -> Value {
    let mut spec = object.get("spec").cloned().unwrap_or_default();
    free.iter().for_each(|f| drop(remove_value(&mut spec, f)));
    spec
}

fn forbid_other_changes(
    old: &Value,
    new: &Value,
    free: &[&str],
    detail: &str,
    causes: &mut Vec<StatusCause>,
) {
    if spec_without(old, free) != spec_without(new, free) {
        causes.push(StatusCause::forbidden("spec", detail));
    }
}

/// A claim may not shrink below the size of its volume.
fn check_claim_size(old: &Value, new: &Value, causes: &mut Vec<StatusCause>) {
    const SIZE: &str = "spec.resources.requests.storage";
    let units = |object: &Value, path: &str| {
        FormattedQuantity::parse(str_at(object, path)).map(FormattedQuantity::to_units)
    };
    let (before, after) = (units(old, SIZE), units(new, SIZE));
    if after.is_some() && after < before && after < units(old, "status.capacity.storage") {
        causes.push(StatusCause::forbidden(SIZE, "field can not be less than status.capacity"));
    }
}

fn check_service(old: &Value, new: &Value, causes: &mut Vec<StatusCause>) {
    let (before, after) = (str_at(old, "spec.clusterIP"), str_at(new, "spec.clusterIP"));
    let external = str_at(old, "spec.type") == "ExternalName" || str_at(new, "spec.type") == "ExternalName";
    if !before.is_empty() && before != after && !external {
        let shown = value_at(new, "spec.clusterIPs").cloned().unwrap_or_else(|| vec![after].into());
        causes.push(StatusCause::invalid("spec.clusterIPs[0]", &shown, "may not change once set"));
    }
}

fn check_immutable_data(old: &Value, new: &Value, fields: &[&str], causes: &mut Vec<StatusCause>) {
    if !bool_at(old, "immutable") {
        return;
    }
    const WHY: &str = "field is immutable when `immutable` is set";
    if !bool_at(new, "immutable") {
        causes.push(StatusCause::forbidden("immutable", WHY));
    }
    for field in fields.iter().filter(|f| value_at(old, f) != value_at(new, f)) {
        causes.push(StatusCause::forbidden(*field, WHY));
    }
}

fn check_pod(old: &Value, new: &Value, causes: &mut Vec<StatusCause>) {
    let comparable = |object: &Value| {
        let mut spec = spec_without(
            object,
            &["activeDeadlineSeconds", "tolerations", "nodeName", "ephemeralContainers"],
        );
        for kind in ["containers", "initContainers"] {
            for container in spec.get_mut(kind).and_then(Value::as_array_mut).into_iter().flatten() {
                remove_value(container, "image");
                remove_value(container, "imagePullPolicy");
            }
        }
        spec
    };
    let moved = !str_at(old, "spec.nodeName").is_empty()
        && str_at(old, "spec.nodeName") != str_at(new, "spec.nodeName");
    let fewer =
        array_at(old, "spec.tolerations").iter().any(|t| !array_at(new, "spec.tolerations").contains(t));
    if moved || fewer || comparable(old) != comparable(new) {
        causes.push(StatusCause::forbidden("spec", POD_DETAIL));
    }
}
