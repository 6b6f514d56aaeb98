//! Claims are bound to a volume made for them; volumes made by hand stay free.

use std::time::Duration;

use serde_json::{Value, json};

use super::Works;
use crate::object::{self, at, list, put, text};
use crate::store;

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let claim = works.get("", "PersistentVolumeClaim", key)?;
    let claim = &claim.value;
    if object::deleting(claim) || text(claim, "status.phase") == "Bound" {
        return None;
    }
    let class = class(works, claim)?;
    let name = match text(claim, "spec.volumeName") {
        "" => format!("pvc-{}", object::uid(claim)),
        name => name.to_owned(),
    };
    let volumes = works.kind("", "PersistentVolume")?;
    let size = at(claim, "spec.resources.requests.storage").cloned().unwrap_or_else(|| "1Gi".into());
    let modes = at(claim, "spec.accessModes").cloned().unwrap_or_else(|| json!(["ReadWriteOnce"]));
    if works.sim.store.get(volumes.id, &store::key("", &name)).is_none() {
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
        if let Err(message) = works.create(&volumes, volume) {
            tracing::debug!(message, "volume not written");
        }
    }
    let kind = works.kind("", "PersistentVolumeClaim")?;
    works.edit(&kind, claim, "status", |live| {
        put(live, "spec.volumeName", name.clone());
        object::put_default(live, "spec.storageClassName", class.clone());
        put(live, "status.phase", "Bound");
        put(live, "status.accessModes", modes.clone());
        put(live, "status.capacity.storage", size.clone());
        let annotations = object::place(live, "metadata.annotations");
        annotations["pv.kubernetes.io/bind-completed"] = "yes".into();
        annotations["pv.kubernetes.io/bound-by-controller"] = "yes".into();
    });
    None
}

/// A volume that nobody claims yet is free.
pub(super) fn volume(works: &mut Works, key: &str) -> Option<Duration> {
    let kind = works.kind("", "PersistentVolume")?;
    let volume = works.sim.store.get(kind.id, key)?;
    if text(&volume.value, "status.phase").is_empty() || text(&volume.value, "status.phase") == "Pending" {
        works.status(&kind, &volume.value, |live| put(live, "status.phase", "Available"));
    }
    None
}

/// The class of a claim, or the default one; none if it does not exist, and the claim waits.
fn class(works: &mut Works, claim: &Value) -> Option<String> {
    let kind = works.kind("storage.k8s.io", "StorageClass")?;
    let beta = object::map(claim, "metadata.annotations")
        .and_then(|a| a.get("volume.beta.kubernetes.io/storage-class")?.as_str());
    let named = at(claim, "spec.storageClassName").and_then(Value::as_str).or(beta);
    let classes = works.sim.store.list(kind.id, None).0;
    match named {
        Some("") => None,
        Some(name) => {
            let known = classes.iter().any(|c| object::name(&c.value) == name);
            if !known {
                let message = format!("storageclass.storage.k8s.io \"{name}\" not found");
                let told = list(claim, "metadata.managedFields").is_empty();
                if !told {
                    super::events::tell(works, claim, ("Warning", "ProvisioningFailed"), &message);
                }
            }
            known.then(|| name.to_owned())
        }
        None => {
            let default = classes.iter().find(|c| {
                let annotations = object::map(&c.value, "metadata.annotations");
                annotations.is_some_and(|a| {
                    a.get("storageclass.kubernetes.io/is-default-class") == Some(&"true".into())
                })
            })?;
            Some(object::name(&default.value).to_owned())
        }
    }
}
