//! Maps committed changes to the controllers' keys.

use serde_json::Value;
use tokio::time::Instant;

use super::work_queue::WorkQueue;
use super::{Controller, ControllerContext};
use crate::object::{self, str_at, value_at};
use crate::store::{self, ObjectChange};

/// Enqueues the keys that the change affects.
pub(super) fn enqueue_change(
    ctx: &mut ControllerContext,
    queue: &mut WorkQueue,
    change: &ObjectChange,
    on: bool,
) {
    let now = Instant::now();
    let value = &change.new.value;
    let kind = str_at(value, "kind").to_owned();
    let group = str_at(value, "apiVersion").split_once('/').map_or("", |(group, _)| group).to_owned();
    if let Some(controller) = controller_for(&group, &kind)
        && (on || controller == Controller::CustomResourceDefinition)
    {
        queue.push(controller, &change.key, now);
    }
    if !on {
        return;
    }
    let namespace = object::namespace(value);
    if let Some(owner) = object::controller_reference(value) {
        let owner_group = str_at(owner, "apiVersion").split_once('/').map_or("", |(group, _)| group);
        if let Some(controller) = controller_for(owner_group, str_at(owner, "kind")) {
            queue.push(controller, &store::object_key(namespace, str_at(owner, "name")), now);
        }
    }
    enqueue_garbage(ctx, queue, change, now);
    if group.is_empty() && kind == "Pod" {
        enqueue_pod_observers(ctx, queue, change, now);
    }
    if change.deleted && !namespace.is_empty() {
        let key = store::object_key("", namespace);
        if ctx.get_object("", "Namespace", &key).is_some_and(|n| object::is_deleting(&n.value)) {
            queue.push(Controller::Namespace, &key, now);
        }
    }
    if group == "apps" || kind == "Node" {
        enqueue_kind_observers(ctx, queue, &kind, now);
    }
}

fn controller_for(group: &str, kind: &str) -> Option<Controller> {
    Some(match (group, kind) {
        ("", "Pod") => Controller::Pod,
        ("", "Service") => Controller::Service,
        ("", "Namespace") => Controller::Namespace,
        ("", "PersistentVolumeClaim") => Controller::VolumeClaim,
        ("", "PersistentVolume") => Controller::Volume,
        ("", "ResourceQuota") => Controller::Quota,
        ("", "ReplicationController") => Controller::ReplicaSet,
        ("apps", "Deployment") => Controller::Deployment,
        ("apps", "ReplicaSet") => Controller::ReplicaSet,
        ("apps", "StatefulSet") => Controller::StatefulSet,
        ("apps", "DaemonSet") => Controller::DaemonSet,
        ("batch", "Job") => Controller::Job,
        ("batch", "CronJob") => Controller::CronJob,
        ("networking.k8s.io", "Ingress") => Controller::Ingress,
        ("autoscaling", "HorizontalPodAutoscaler") => Controller::Autoscaler,
        ("policy", "PodDisruptionBudget") => Controller::DisruptionBudget,
        ("apiextensions.k8s.io", "CustomResourceDefinition") => Controller::CustomResourceDefinition,
        _ => return None,
    })
}

/// Enqueues deleted owners, dependents whose owner does not exist, and deletions that wait for dependents.
fn enqueue_garbage(ctx: &mut ControllerContext, queue: &mut WorkQueue, change: &ObjectChange, now: Instant) {
    let value = &change.new.value;
    if change.deleted {
        if !ctx.sim.store.dependents(object::uid(value)).is_empty() {
            queue.push(Controller::GarbageCollector, object::uid(value), now);
        }
    } else if change.old.is_none() {
        for owner in object::array_at(value, "metadata.ownerReferences") {
            let uid = str_at(owner, "uid");
            if ctx.sim.store.get_by_uid(uid).is_none() {
                queue.push(Controller::GarbageCollector, uid, now);
            }
        }
    }
    if object::is_deleting(value)
        && !change.deleted
        && object::finalizers(value).any(|f| f == "foregroundDeletion" || f == "orphan")
    {
        queue.push(Controller::Dependents, object::uid(value), now);
    }
    // A deleted dependent may be the last one that its owner waits for.
    if change.deleted {
        for owner in object::array_at(value, "metadata.ownerReferences") {
            let uid = str_at(owner, "uid");
            if ctx.sim.store.get_by_uid(uid).is_some_and(|(_, o)| object::is_deleting(&o.value)) {
                queue.push(Controller::Dependents, uid, now);
            }
        }
    }
}

/// Whether the fields of a pod that services and budgets read have changed.
fn has_observable_change(change: &ObjectChange) -> bool {
    let Some(old) = change.old.as_ref().filter(|_| !change.deleted) else { return true };
    let observable = |v: &Value| {
        let ready = object::condition(v, "Ready").map(|c| str_at(c, "status").to_owned());
        (
            ready,
            value_at(v, "metadata.labels").cloned(),
            value_at(v, "status.podIP").cloned(),
            object::is_deleting(v),
        )
    };
    observable(&old.value) != observable(&change.new.value)
}

fn enqueue_pod_observers(
    ctx: &mut ControllerContext,
    queue: &mut WorkQueue,
    change: &ObjectChange,
    now: Instant,
) {
    let pod = &change.new.value;
    let uid = object::uid(pod).to_owned();
    let ready = object::condition(pod, "Ready").is_some_and(|c| str_at(c, "status") == "True");
    if ready && !change.deleted {
        ctx.state.ready_since.entry(uid.clone()).or_insert(now);
    } else {
        ctx.state.ready_since.remove(&uid);
    }
    ctx.state.node_usage.record_pod(&change.key, pod, change.deleted);
    if change.deleted {
        ctx.state.pod_timers.remove(&uid);
        // A Deployment with strategy Recreate waits for the last pod of its old ReplicaSet.
        let set =
            object::controller_reference(pod).and_then(|set| ctx.sim.store.get_by_uid(str_at(set, "uid")));
        if let Some(deployment) = set.as_ref().and_then(|(_, set)| object::controller_reference(&set.value))
            && str_at(deployment, "kind") == "Deployment"
        {
            let key = store::object_key(object::namespace(pod), str_at(deployment, "name"));
            queue.push(Controller::Deployment, &key, now);
        }
    }
    if !has_observable_change(change) {
        return;
    }
    let namespace = object::namespace(pod).to_owned();
    for (controller, group, kind) in [
        (Controller::Service, "", "Service"),
        (Controller::DisruptionBudget, "policy", "PodDisruptionBudget"),
        (Controller::Quota, "", "ResourceQuota"),
    ] {
        let Some(kind) = ctx.builtin_kind(group, kind) else { continue };
        for object in ctx.sim.store.list(kind.id, Some(&namespace)).0 {
            let concerned = match value_at(&object.value, "spec.selector") {
                Some(selector) => {
                    let selector = crate::selector::LabelRequirements::from_value(selector);
                    selector.selects(pod) || change.old.as_ref().is_some_and(|o| selector.selects(&o.value))
                }
                None => controller == Controller::Quota,
            };
            if concerned {
                queue.push(controller, &store::object_key(&namespace, object::name(&object.value)), now);
            }
        }
    }
}

/// Enqueues all autoscalers when a target changes, and all DaemonSets when a node changes.
fn enqueue_kind_observers(ctx: &mut ControllerContext, queue: &mut WorkQueue, kind: &str, now: Instant) {
    let (controller, group, name) = match kind {
        "Deployment" | "StatefulSet" => (Controller::Autoscaler, "autoscaling", "HorizontalPodAutoscaler"),
        "Node" => (Controller::DaemonSet, "apps", "DaemonSet"),
        _ => return,
    };
    let Some(kind) = ctx.builtin_kind(group, name) else { return };
    for object in ctx.sim.store.list(kind.id, None).0 {
        queue.push(
            controller,
            &store::object_key(object::namespace(&object.value), object::name(&object.value)),
            now,
        );
    }
}
