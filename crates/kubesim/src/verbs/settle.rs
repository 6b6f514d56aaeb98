//! The steps every write shares: what may change through which door, defaults, checks, generation, ownership.

use serde_json::Value;

use super::{MAX_OBJECT, Target, Write};
use crate::apply::{Writer, record};
use crate::cluster::Sim;
use crate::object::{self, at};
use crate::status::{Answer, Refusal};
use crate::{admission, defaults, validate};

/// Metadata only the server writes.
const SERVERS: [&str; 6] = [
    "metadata.uid",
    "metadata.creationTimestamp",
    "metadata.deletionTimestamp",
    "metadata.generation",
    "metadata.deletionGracePeriodSeconds",
    "metadata.resourceVersion",
];

/// Finishes a new object. `applied`: its ownership is recorded already.
pub(crate) fn fresh(
    sim: &Sim,
    target: &Target,
    new: &mut Value,
    write: &Write<'_>,
    applied: bool,
) -> Answer<()> {
    let (kind, now) = (&target.kind, sim.clock.stamp());
    for path in SERVERS.iter().chain(&["metadata.selfLink"]) {
        object::remove(new, path);
    }
    object::put(new, "metadata.uid", uid());
    object::put(new, "metadata.creationTimestamp", now.clone());
    if has_generation(target) {
        object::put(new, "metadata.generation", 1);
    }
    // A kubelet registers its node with its status; everybody else's is dropped.
    if target.version().status && !write.system && !kind.is("", "Node") {
        object::remove(new, "status");
    }
    crate::convert::inward(kind, target.version, new);
    defaults::apply(kind, new);
    starting_status(target, new);
    if kind.is("", "Service") {
        defaults::allocate(new, None, || sim.next());
    }
    if !write.system || kind.is("", "Pod") {
        admission::create(sim, kind, new, write.dry_run)?;
        let causes = validate::create(kind, new, kind.storage().ty());
        if !causes.is_empty() {
            return Err(Refusal::invalid(kind, object::name(new), &causes));
        }
    }
    if !applied {
        let writer = Writer {
            manager: write.manager,
            subresource: write.subresource,
            api_version: &target.version().api_version,
            now: &now,
        };
        record(&Value::Object(Default::default()), new, kind.storage().ty(), writer);
    }
    fits(new)
}

/// Finishes a changed object. Answers whether anything but its version differs from `old`.
pub(crate) fn changed(
    sim: &Sim,
    target: &Target,
    (old, new): (&Value, &mut Value),
    write: &Write<'_>,
    applied: bool,
) -> Answer<bool> {
    let kind = &target.kind;
    for path in SERVERS {
        match at(old, path) {
            Some(value) => object::put(new, path, value.clone()),
            None => drop(object::remove(new, path)),
        }
    }
    if !write.system {
        doors(target, old, new, write.subresource);
    }
    if object::deleting(old) {
        no_new_finalizers(target, old, new)?;
    }
    if write.subresource != "status" {
        defaults::apply(kind, new);
        if kind.is("", "Service") {
            defaults::allocate(new, Some(old), || sim.next());
        }
        if !write.system {
            let causes = validate::update(kind, old, new, kind.storage().ty());
            if !causes.is_empty() {
                return Err(Refusal::invalid(kind, object::name(new), &causes));
            }
            admission::webhooks(sim, kind, new, write.dry_run)?;
        }
    }
    if has_generation(target) && content_differs(target, old, new) {
        let generation = object::int(old, "metadata.generation").unwrap_or(0) + 1;
        object::put(new, "metadata.generation", generation);
    }
    if !applied {
        let now = sim.clock.stamp();
        let writer = Writer {
            manager: write.manager,
            subresource: write.subresource,
            api_version: &target.version().api_version,
            now: &now,
        };
        record(old, new, kind.storage().ty(), writer);
    }
    fits(new)?;
    Ok(*old != *new)
}

/// Through the main door status does not change, through a subresource's nothing else does.
fn doors(target: &Target, old: &Value, new: &mut Value, subresource: &str) {
    match subresource {
        "status" => {
            let status = object::remove(new, "status");
            let metadata = new.get("metadata").cloned();
            let managed = at(new, "metadata.managedFields").cloned();
            *new = old.clone();
            if let Some(metadata) = metadata {
                for path in ["labels", "annotations", "finalizers"] {
                    let sent = metadata.get(path).cloned();
                    match sent.filter(|_| !target.kind.custom) {
                        Some(value) => new["metadata"][path] = value,
                        None if target.kind.custom => {}
                        None => drop(object::remove(&mut new["metadata"], path)),
                    }
                }
            }
            if let Some(managed) = managed {
                object::put(new, "metadata.managedFields", managed);
            }
            match status {
                Some(status) => new["status"] = status,
                None => drop(object::remove(new, "status")),
            }
        }
        _ if target.version().status => match old.get("status") {
            Some(status) => new["status"] = status.clone(),
            None => drop(object::remove(new, "status")),
        },
        _ => {}
    }
}

fn no_new_finalizers(target: &Target, old: &Value, new: &Value) -> Answer<()> {
    let before: Vec<&str> = object::finalizers(old).collect();
    let added: Vec<&str> = object::finalizers(new).filter(|f| !before.contains(f)).collect();
    if added.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "no new finalizers can be added if the object is being deleted, found new finalizers {added:?}"
    );
    let cause = crate::status::Cause::forbidden("metadata.finalizers", &detail);
    Err(Refusal::invalid(&target.kind, object::name(new), &[cause]))
}

/// Kinds whose objects count their generations.
fn has_generation(target: &Target) -> bool {
    let kind = &target.kind;
    let counted =
        matches!(&*kind.group, "apps" | "batch" | "policy" | "networking.k8s.io" | "apiextensions.k8s.io")
            || matches!(&*kind.kind, "ReplicationController" | "Pod")
            || kind.group.ends_with("admissionregistration.k8s.io")
            || kind.group == "flowcontrol.apiserver.k8s.io";
    kind.custom || counted
}

/// Whether anything but metadata (and, where it has its own door, status) differs.
fn content_differs(target: &Target, old: &Value, new: &Value) -> bool {
    if !target.kind.custom && target.version().status {
        return old.get("spec") != new.get("spec");
    }
    let content = |value: &Value| {
        let mut map = value.as_object().cloned().unwrap_or_default();
        map.shift_remove("metadata");
        if target.version().status {
            map.shift_remove("status");
        }
        map
    };
    content(old) != content(new)
}

fn starting_status(target: &Target, new: &mut Value) {
    let phase = match (&*target.kind.group, &*target.kind.kind) {
        ("", "Pod" | "PersistentVolumeClaim" | "PersistentVolume") => "Pending",
        ("", "Namespace") => {
            object::put_default(new, "spec.finalizers", vec!["kubernetes"]);
            "Active"
        }
        ("", "Service") => {
            object::put_default(new, "status.loadBalancer", serde_json::Map::new());
            return;
        }
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet")
        | ("batch", "Job" | "CronJob")
        | ("networking.k8s.io", "Ingress") => {
            object::put_default(new, "status", serde_json::Map::new());
            return;
        }
        _ => return,
    };
    object::put_default(new, "status.phase", phase);
}

fn fits(new: &Value) -> Answer<()> {
    // Only an object with much text can be too large; most are far from it, so the exact size is rarely needed.
    if weight(new) < MAX_OBJECT / 4 {
        return Ok(());
    }
    let size = new.to_string().len();
    if size <= MAX_OBJECT { Ok(()) } else { Err(Refusal::too_large()) }
}

fn weight(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => items.iter().map(weight).sum::<usize>() + 2,
        Value::Object(map) => map.iter().map(|(k, v)| k.len() + 4 + weight(v)).sum::<usize>() + 2,
        _ => 8,
    }
}

/// A random uid.
pub(crate) fn uid() -> String {
    let mut bytes: [u8; 16] = rand::random();
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = hex::encode(bytes);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// A suffix as generated names have it, from the letters that form no words.
pub(crate) fn suffix() -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..5).map(|_| char::from(LETTERS[usize::from(rand::random::<u8>()) % LETTERS.len()])).collect()
}
