//! Binds each PersistentVolumeClaim to a provisioned volume; volumes created by clients stay available.

use std::time::Duration;

use serde_json::{Value, json};

use super::ControllerContext;
use crate::object::{self, array_at, set_value, str_at, value_at};
use crate::store;

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let claim = ctx.get_object("", "PersistentVolumeClaim", key)?;
    let claim = &claim.value;
    if object::is_deleting(claim) || str_at(claim, "status.phase") == "Bound" {
        return None;
    }
    let class = storage_class(ctx, claim)?;
    if is_unused_late_claim(ctx, claim) {
        let message = "waiting for first consumer to be created before binding";
        super::events::record_event(ctx, claim, ("Normal", "WaitForFirstConsumer"), message);
        return None;
    }
    let name = match str_at(claim, "spec.volumeName") {
        "" => format!("pvc-{}", object::uid(claim)),
        name => name.to_owned(),
    };
    let volumes = ctx.builtin_kind("", "PersistentVolume")?;
    let size = value_at(claim, "spec.resources.requests.storage").cloned().unwrap_or_else(|| "1Gi".into());
    let modes = value_at(claim, "spec.accessModes").cloned().unwrap_or_else(|| json!(["ReadWriteOnce"]));
    if ctx.sim.store.get(volumes.id, &store::object_key("", &name)).is_none() {
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": size}, "accessModes": modes, "storageClassName": class,
                "persistentVolumeReclaimPolicy": "Delete", "hostPath": {"path": format!("/var/lib/sim/{name}"), "type": ""},
                "claimRef": {
                    "apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": object::name(claim),
                    "namespace": object::namespace(claim), "uid": object::uid(claim),
                },
            },
            "status": {"phase": "Bound"},
        });
        if let Err(message) = ctx.create_object(&volumes, volume) {
            tracing::debug!(message, "the volume was not created");
        }
    }
    let kind = ctx.builtin_kind("", "PersistentVolumeClaim")?;
    ctx.edit_object(&kind, claim, "status", |live| {
        set_value(live, "spec.volumeName", name.clone());
        object::set_default(live, "spec.storageClassName", class.clone());
        set_value(live, "status.phase", "Bound");
        set_value(live, "status.accessModes", modes.clone());
        set_value(live, "status.capacity.storage", size.clone());
        let annotations = object::value_at_mut(live, "metadata.annotations");
        annotations["pv.kubernetes.io/bind-completed"] = "yes".into();
        annotations["pv.kubernetes.io/bound-by-controller"] = "yes".into();
    });
    None
}

/// Marks an unclaimed volume as available.
pub(super) fn reconcile_volume(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let kind = ctx.builtin_kind("", "PersistentVolume")?;
    let volume = ctx.sim.store.get(kind.id, key)?;
    if str_at(&volume.value, "status.phase").is_empty() || str_at(&volume.value, "status.phase") == "Pending"
    {
        ctx.update_status(&kind, &volume.value, |live| set_value(live, "status.phase", "Available"));
    }
    None
}

/// Set on a claim once a pod that uses it is scheduled.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Whether a claim is bound only once a pod uses it, and none does.
pub(super) fn is_unused_late_claim(ctx: &mut ControllerContext, claim: &Value) -> bool {
    let Some(kind) = ctx.builtin_kind("storage.k8s.io", "StorageClass") else { return false };
    let Some(class) = storage_class(ctx, claim) else { return false };
    let class = ctx.sim.store.get(kind.id, &store::object_key("", &class));
    let binds_late =
        class.is_some_and(|class| str_at(&class.value, "volumeBindingMode") == "WaitForFirstConsumer");
    let annotations = object::map_at(claim, "metadata.annotations");
    binds_late && annotations.is_none_or(|annotations| !annotations.contains_key(SELECTED_NODE))
}

/// Marks the claims of a scheduled pod that wait for their first consumer; they are bound then.
pub(super) fn select_node(ctx: &mut ControllerContext, pod: &Value, node: &str) {
    let Some(kind) = ctx.builtin_kind("", "PersistentVolumeClaim") else { return };
    let names: Vec<String> = claim_names(pod).map(str::to_owned).collect();
    for name in names {
        let key = store::object_key(object::namespace(pod), &name);
        let Some(claim) = ctx.get_object("", "PersistentVolumeClaim", &key) else { continue };
        if is_unused_late_claim(ctx, &claim.value) {
            ctx.edit_object(&kind, &claim.value, "", |live| {
                object::value_at_mut(live, "metadata.annotations")[SELECTED_NODE] = node.into();
            });
        }
    }
}

/// The names of the claims that a pod uses.
pub(super) fn claim_names(pod: &Value) -> impl Iterator<Item = &str> {
    array_at(pod, "spec.volumes")
        .iter()
        .filter_map(|volume| volume.pointer("/persistentVolumeClaim/claimName")?.as_str())
}

/// The storage class of a claim, or the default one; `None` if it does not exist: the claim stays pending.
fn storage_class(ctx: &mut ControllerContext, claim: &Value) -> Option<String> {
    let kind = ctx.builtin_kind("storage.k8s.io", "StorageClass")?;
    let beta = object::map_at(claim, "metadata.annotations")
        .and_then(|a| a.get("volume.beta.kubernetes.io/storage-class")?.as_str());
    let named = value_at(claim, "spec.storageClassName").and_then(Value::as_str).or(beta);
    let classes = ctx.sim.store.list(kind.id, None).0;
    match named {
        Some("") => None,
        Some(name) => {
            let known = classes.iter().any(|c| object::name(&c.value) == name);
            if !known {
                let message = format!("storageclass.storage.k8s.io \"{name}\" not found");
                let unmanaged = array_at(claim, "metadata.managedFields").is_empty();
                if !unmanaged {
                    super::events::record_event(ctx, claim, ("Warning", "ProvisioningFailed"), &message);
                }
            }
            known.then(|| name.to_owned())
        }
        None => {
            let default = classes.iter().find(|c| {
                let annotations = object::map_at(&c.value, "metadata.annotations");
                annotations.is_some_and(|a| {
                    a.get("storageclass.kubernetes.io/is-default-class") == Some(&"true".into())
                })
            })?;
            Some(object::name(&default.value).to_owned())
        }
    }
}
