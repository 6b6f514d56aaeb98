//! Which desks a committed change concerns.

use serde_json::Value;
use tokio::time::Instant;

use super::queue::Queue;
use super::{Desk, Works};
use crate::object::{self, at, text};
use crate::store::{self, Change};

/// Puts the change on the desks it concerns.
pub(super) fn wake(works: &mut Works, queue: &mut Queue, change: &Change, on: bool) {
    let now = Instant::now();
    let value = &change.new.value;
    let kind = text(value, "kind").to_owned();
    let group = text(value, "apiVersion").split_once('/').map_or("", |(group, _)| group).to_owned();
    if let Some(desk) = desk(&group, &kind)
        && (on || desk == Desk::Definition)
    {
        queue.push(desk, &change.key, now);
    }
    if !on {
        return;
    }
    let namespace = object::namespace(value);
    if let Some(owner) = object::controller(value) {
        let owner_group = text(owner, "apiVersion").split_once('/').map_or("", |(group, _)| group);
        if let Some(desk) = desk(owner_group, text(owner, "kind")) {
            queue.push(desk, &store::key(namespace, text(owner, "name")), now);
        }
    }
    garbage(works, queue, change, now);
    if group.is_empty() && kind == "Pod" {
        pod(works, queue, change, now);
    }
    if change.deleted && !namespace.is_empty() {
        let key = store::key("", namespace);
        if works.get("", "Namespace", &key).is_some_and(|n| object::deleting(&n.value)) {
            queue.push(Desk::Namespace, &key, now);
        }
    }
    if group == "apps" || kind == "Node" {
        others(works, queue, &kind, now);
    }
}

fn desk(group: &str, kind: &str) -> Option<Desk> {
    Some(match (group, kind) {
        ("", "Pod") => Desk::Pod,
        ("", "Service") => Desk::Service,
        ("", "Namespace") => Desk::Namespace,
        ("", "PersistentVolumeClaim") => Desk::Claim,
        ("", "PersistentVolume") => Desk::Volume,
        ("", "ResourceQuota") => Desk::Quota,
        ("", "ReplicationController") => Desk::ReplicaSet,
        ("apps", "Deployment") => Desk::Deployment,
        ("apps", "ReplicaSet") => Desk::ReplicaSet,
        ("apps", "StatefulSet") => Desk::StatefulSet,
        ("apps", "DaemonSet") => Desk::DaemonSet,
        ("batch", "Job") => Desk::Job,
        ("batch", "CronJob") => Desk::CronJob,
        ("networking.k8s.io", "Ingress") => Desk::Ingress,
        ("autoscaling", "HorizontalPodAutoscaler") => Desk::Scaler,
        ("policy", "PodDisruptionBudget") => Desk::Budget,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Desk::Definition,
        _ => return None,
    })
}

/// Owners that went, dependents whose owner never was, deletions that wait for dependents.
fn garbage(works: &mut Works, queue: &mut Queue, change: &Change, now: Instant) {
    let value = &change.new.value;
    if change.deleted {
        if !works.sim.store.children(object::uid(value)).is_empty() {
            queue.push(Desk::Garbage, object::uid(value), now);
        }
    } else if change.old.is_none() {
        for owner in object::list(value, "metadata.ownerReferences") {
            let uid = text(owner, "uid");
            if works.sim.store.by_uid(uid).is_none() {
                queue.push(Desk::Garbage, uid, now);
            }
        }
    }
    if object::deleting(value)
        && !change.deleted
        && object::finalizers(value).any(|f| f == "foregroundDeletion" || f == "orphan")
    {
        queue.push(Desk::Dependents, object::uid(value), now);
    }
    // A dependent that goes may be the last one its owner waits for.
    if change.deleted {
        for owner in object::list(value, "metadata.ownerReferences") {
            let uid = text(owner, "uid");
            if works.sim.store.by_uid(uid).is_some_and(|(_, o)| object::deleting(&o.value)) {
                queue.push(Desk::Dependents, uid, now);
            }
        }
    }
}

/// Whether a pod differs in what services and budgets look at.
fn seen_by_others(change: &Change) -> bool {
    let Some(old) = change.old.as_ref().filter(|_| !change.deleted) else { return true };
    let look = |v: &Value| {
        let ready = object::condition(v, "Ready").map(|c| text(c, "status").to_owned());
        (ready, at(v, "metadata.labels").cloned(), at(v, "status.podIP").cloned(), object::deleting(v))
    };
    look(&old.value) != look(&change.new.value)
}

fn pod(works: &mut Works, queue: &mut Queue, change: &Change, now: Instant) {
    let pod = &change.new.value;
    let uid = object::uid(pod).to_owned();
    let ready = object::condition(pod, "Ready").is_some_and(|c| text(c, "status") == "True");
    if ready && !change.deleted {
        works.memory.ready.entry(uid.clone()).or_insert(now);
    } else {
        works.memory.ready.remove(&uid);
    }
    works.memory.nodes.note(&change.key, pod, change.deleted);
    if change.deleted {
        works.memory.pods.remove(&uid);
        // A Deployment that recreates waits for the last pod of its old set.
        let set = object::controller(pod).and_then(|set| works.sim.store.by_uid(text(set, "uid")));
        if let Some(deployment) = set.as_ref().and_then(|(_, set)| object::controller(&set.value))
            && text(deployment, "kind") == "Deployment"
        {
            let key = store::key(object::namespace(pod), text(deployment, "name"));
            queue.push(Desk::Deployment, &key, now);
        }
    }
    if !seen_by_others(change) {
        return;
    }
    let namespace = object::namespace(pod).to_owned();
    for (desk, group, kind) in [
        (Desk::Service, "", "Service"),
        (Desk::Budget, "policy", "PodDisruptionBudget"),
        (Desk::Quota, "", "ResourceQuota"),
    ] {
        let Some(kind) = works.kind(group, kind) else { continue };
        for object in works.sim.store.list(kind.id, Some(&namespace)).0 {
            let concerned = match at(&object.value, "spec.selector") {
                Some(selector) => {
                    let selector = crate::selector::LabelSelector::of(selector);
                    selector.selects(pod) || change.old.as_ref().is_some_and(|o| selector.selects(&o.value))
                }
                None => desk == Desk::Quota,
            };
            if concerned {
                queue.push(desk, &store::key(&namespace, object::name(&object.value)), now);
            }
        }
    }
}

/// Scalers look at their target, DaemonSets at the nodes.
fn others(works: &mut Works, queue: &mut Queue, kind: &str, now: Instant) {
    let (desk, group, name) = match kind {
        "Deployment" | "StatefulSet" => (Desk::Scaler, "autoscaling", "HorizontalPodAutoscaler"),
        "Node" => (Desk::DaemonSet, "apps", "DaemonSet"),
        _ => return,
    };
    let Some(kind) = works.kind(group, name) else { return };
    for object in works.sim.store.list(kind.id, None).0 {
        queue.push(desk, &store::key(object::namespace(&object.value), object::name(&object.value)), now);
    }
}
