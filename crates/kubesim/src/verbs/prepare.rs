//! The steps shared by all writes: subresource restrictions, defaults, validation, generation, field ownership.

use serde_json::Value;

use super::{MAX_OBJECT_BYTES, ResourcePath, WriteOptions};
use crate::apply::{FieldManager, record_ownership};
use crate::cluster::SimState;
use crate::object::{self, value_at};
use crate::status::{ApiResult, StatusError};
use crate::{admission, defaults, validate};

/// Metadata that only the server writes.
const SERVER_FIELDS: [&str; 6] = [
    "metadata.uid",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.generation",
    "metadata.deletionGracePeriodSeconds",
    "metadata.resourceVersion",
];

/// Prepares a new object. `applied`: its field ownership is already recorded.
pub(crate) fn prepare_create(
    sim: &SimState,
    target: &ResourcePath,
    new: &mut Value,
    write: &WriteOptions<'_>,
    applied: bool,
) -> ApiResult<()> {
    let (kind, now) = (&target.kind, sim.clock.now_rfc3339());
    for path in SERVER_FIELDS.iter().chain(&["metadata.selfLink"]) {
        object::remove_value(new, path);
    }
    object::set_value(new, "metadata.uid", generate_uid());
    object::set_value(new, "metadata.creationTimestamp", now.clone());
    if has_generation(target) {
        object::set_value(new, "metadata.generation", 1);
    }
    // A kubelet registers its node with its status; the status of any other new object is dropped.
    if target.version().has_status && !write.by_system && !kind.is_kind("", "Node") {
        object::remove_value(new, "status");
    }
    crate::convert::convert_to_storage(kind, target.version, new);
    defaults::apply(kind, new);
    set_initial_status(target, new);
    if kind.is_kind("", "Service") {
        defaults::allocate_addresses(new, None, || sim.next_serial());
    }
    // Of what controllers create, these can be refused: their controllers report it.
    if !write.by_system || kind.is_kind("", "Pod") || kind.is_kind("batch", "Job") {
        admission::admit_create(sim, kind, new, write.dry_run)?;
        let causes = validate::validate_create(kind, new, kind.storage_version().ty());
        if !causes.is_empty() {
            return Err(StatusError::invalid(kind, object::name(new), &causes));
        }
    }
    if !applied {
        let writer = FieldManager {
            manager: write.manager,
            subresource: write.subresource,
            api_version: &target.version().api_version,
            now: &now,
        };
        record_ownership(&Value::Object(Default::default()), new, kind.storage_version().ty(), writer);
    }
    check_size(new)
}

/// Prepares a changed object. Returns whether it differs from `old`.
pub(crate) fn prepare_update(
    sim: &SimState,
    target: &ResourcePath,
    (old, new): (&Value, &mut Value),
    write: &WriteOptions<'_>,
    applied: bool,
) -> ApiResult<bool> {
    let kind = &target.kind;
    for path in SERVER_FIELDS {
        match value_at(old, path) {
            Some(value) => object::set_value(new, path, value.clone()),
            None => drop(object::remove_value(new, path)),
        }
    }
    if !write.by_system {
        restrict_to_subresource(target, old, new, write.subresource);
    }
    if object::is_deleting(old) {
        check_finalizers(target, old, new)?;
    }
    if write.subresource != "status" {
        defaults::apply(kind, new);
        if kind.is_kind("", "Service") {
            defaults::allocate_addresses(new, Some(old), || sim.next_serial());
        }
        if !write.by_system {
            let causes = validate::validate_update(kind, old, new, kind.storage_version().ty());
            if !causes.is_empty() {
                return Err(StatusError::invalid(kind, object::name(new), &causes));
            }
            admission::check_webhooks(sim, kind, new, write.dry_run)?;
        }
    }
    if has_generation(target) && has_content_change(target, old, new) {
        let generation = object::i64_at(old, "metadata.generation").unwrap_or(0) + 1;
        object::set_value(new, "metadata.generation", generation);
    }
    if !applied {
        let now = sim.clock.now_rfc3339();
        let writer = FieldManager {
            manager: write.manager,
            subresource: write.subresource,
            api_version: &target.version().api_version,
            now: &now,
        };
        record_ownership(old, new, kind.storage_version().ty(), writer);
    }
    check_size(new)?;
    Ok(*old != *new)
}

/// Resets the fields that the write must not change: status through the main resource, everything but status (and, for
/// built-in kinds, labels, annotations and finalizers) through `status`.
fn restrict_to_subresource(target: &ResourcePath, old: &Value, new: &mut Value, subresource: &str) {
    match subresource {
        "status" => {
            let status = object::remove_value(new, "status");
            let metadata = new.get("metadata").cloned();
            let managed = value_at(new, "metadata.managedFields").cloned();
            *new = old.clone();
            if let Some(metadata) = metadata {
                for path in ["labels", "annotations", "finalizers"] {
                    let sent = metadata.get(path).cloned();
                    match sent.filter(|_| !target.kind.is_custom) {
                        Some(value) => new["metadata"][path] = value,
                        None if target.kind.is_custom => {}
                        None => drop(object::remove_value(&mut new["metadata"], path)),
                    }
                }
            }
            if let Some(managed) = managed {
                object::set_value(new, "metadata.managedFields", managed);
            }
            match status {
                Some(status) => new["status"] = status,
                None => drop(object::remove_value(new, "status")),
            }
        }
        _ if target.version().has_status => match old.get("status") {
            Some(status) => new["status"] = status.clone(),
            None => drop(object::remove_value(new, "status")),
        },
        _ => {}
    }
}

fn check_finalizers(target: &ResourcePath, old: &Value, new: &Value) -> ApiResult<()> {
    let before: Vec<&str> = object::finalizers(old).collect();
    let added: Vec<&str> = object::finalizers(new).filter(|f| !before.contains(f)).collect();
    if added.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
    );
    let cause = crate::status::StatusCause::forbidden("metadata.finalizers", &detail);
    Err(StatusError::invalid(&target.kind, object::name(new), &[cause]))
}

/// Whether objects of the kind have `metadata.generation`.
fn has_generation(target: &ResourcePath) -> bool {
    let kind = &target.kind;
    let counted =
        matches!(&*kind.group, "apps" | "batch" | "policy" | "networking.k8s.io" | "apiextensions.k8s.io")
            || matches!(&*kind.kind, "ReplicationController" | "Pod")
            || kind.group.ends_with("admissionregistration.k8s.io")
            || kind.group == "flowcontrol.apiserver.k8s.io";
    kind.is_custom || counted
}

/// Whether anything but metadata (and status, if it is a subresource) differs.
fn has_content_change(target: &ResourcePath, old: &Value, new: &Value) -> bool {
    if !target.kind.is_custom && target.version().has_status {
        return old.get("spec") != new.get("spec");
    }
    let content = |value: &Value| {
        let mut map = value.as_object().cloned().unwrap_or_default();
        map.shift_remove("metadata");
        if target.version().has_status {
            map.shift_remove("status");
        }
        map
    };
    content(old) != content(new)
}

fn set_initial_status(target: &ResourcePath, new: &mut Value) {
    let phase = match (&*target.kind.group, &*target.kind.kind) {
        ("", "Pod" | "PersistentVolumeClaim" | "PersistentVolume") => "Pending",
        ("", "Namespace") => {
            object::set_default(new, "spec.finalizers", vec!["kubernetes"]);
            "Active"
        }
        ("", "Service") => {
            object::set_default(new, "status.loadBalancer", serde_json::Map::new());
            return;
        }
        // Its numbers are never left out.
        ("policy", "PodDisruptionBudget") => {
            for number in ["disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"] {
                object::set_default(new, &format!("status.{number}"), 0);
            }
            return;
        }
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job" | "CronJob")
        | ("networking.k8s.io", "Ingress") => {
            object::set_default(new, "status", serde_json::Map::new());
            return;
        }
        _ => return,
    };
    object::set_default(new, "status.phase", phase);
}

fn check_size(new: &Value) -> ApiResult<()> {
    // The estimate avoids serializing every object: most are far below the limit.
    if estimate_size(new) < MAX_OBJECT_BYTES / 4 {
        return Ok(());
    }
    let size = new.to_string().len();
    if size <= MAX_OBJECT_BYTES { Ok(()) } else { Err(StatusError::too_large()) }
}

fn estimate_size(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(estimate_size).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + 4 + estimate_size(v)).sum::<usize>() + 2,
        _ => 8,
    }
}

/// A random uid.
pub(crate) fn generate_uid() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A suffix for generated names, from Kubernetes' alphabet without vowels.
pub(crate) fn generate_suffix() -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..5).map(|_| char::from(LETTERS[usize::from(rand::random::<u8>()) % LETTERS.len()])).collect()
}
