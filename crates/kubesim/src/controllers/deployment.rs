//! Deployments: one ReplicaSet per pod template, scaled from old to new.

mod status;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{ControllerContext, owner_reference, pods};
use crate::object::{self, bool_at, i64_at, set_value, str_at, value_at};
use crate::store::StoredObject;

const REVISION_ANNOTATION: &str = "deployment.kubernetes.io/revision";

/// The ReplicaSets of a Deployment.
struct ReplicaSets {
    new: Option<Arc<StoredObject>>,
    old: Vec<Arc<StoredObject>>,
}

impl ReplicaSets {
    fn all(&self) -> impl Iterator<Item = &Arc<StoredObject>> {
        self.new.iter().chain(&self.old)
    }

    fn sum(&self, path: &str) -> i64 {
        self.all().map(|s| i64_at(&s.value, path).unwrap_or(0)).sum()
    }
}

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let deployment = ctx.get_object("apps", "Deployment", key)?;
    let deployment = &deployment.value;
    if object::is_deleting(deployment) {
        return None;
    }
    let hash = pods::template_hash(&pods::pod_template(deployment));
    let mut sets = find_replica_sets(ctx, deployment, &hash);
    if !bool_at(deployment, "spec.paused") {
        if sets.new.is_none() {
            sets.new = create_replica_set(ctx, deployment, &hash, &sets.old);
        }
        roll_out(ctx, deployment, &sets);
        prune_history(ctx, deployment, &sets.old);
    } else {
        // A paused Deployment does not roll out, but is still scaled.
        scale_paused(ctx, deployment, &sets);
    }
    let sets = find_replica_sets(ctx, deployment, &hash);
    status::write_status(ctx, deployment, &sets)
}

fn find_replica_sets(ctx: &mut ControllerContext, deployment: &Value, hash: &str) -> ReplicaSets {
    let mut sets = ReplicaSets { new: None, old: Vec::new() };
    for set in ctx.list_controlled(deployment, "apps", "ReplicaSet") {
        if str_at(&set.value, "metadata.labels.pod-template-hash") == hash {
            sets.new = Some(set);
        } else {
            sets.old.push(set);
        }
    }
    sets
}

fn revision(object: &Value) -> i64 {
    let annotations = object::map_at(object, "metadata.annotations");
    annotations.and_then(|a| a.get(REVISION_ANNOTATION)?.as_str()?.parse().ok()).unwrap_or(0)
}

fn create_replica_set(
    ctx: &mut ControllerContext,
    deployment: &Value,
    hash: &str,
    old: &[Arc<StoredObject>],
) -> Option<Arc<StoredObject>> {
    let kind = ctx.builtin_kind("apps", "ReplicaSet")?;
    let mut template = pods::pod_template(deployment);
    let mut labels = value_at(&template, "metadata.labels").cloned().unwrap_or_else(|| json!({}));
    labels["pod-template-hash"] = hash.into();
    set_value(&mut template, "metadata.labels", labels.clone());
    let mut selector = value_at(deployment, "spec.selector").cloned().unwrap_or_else(|| json!({}));
    set_value(object::value_at_mut(&mut selector, "matchLabels"), "pod-template-hash", hash);
    let number = old.iter().map(|s| revision(&s.value)).max().unwrap_or(0) + 1;
    let replicas = i64_at(deployment, "spec.replicas").unwrap_or(1);
    let running: i64 = old.iter().map(|s| i64_at(&s.value, "spec.replicas").unwrap_or(0)).sum();
    let start = if old.is_empty() || running == 0 && !is_recreate(deployment) {
        replicas
    } else if is_recreate(deployment) {
        0
    } else {
        (replicas + max_surge(deployment) - running).clamp(0, replicas)
    };
    let mut annotations = value_at(deployment, "metadata.annotations").cloned().unwrap_or_else(|| json!({}));
    if let Some(map) = annotations.as_object_mut() {
        map.shift_remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    annotations[REVISION_ANNOTATION] = number.to_string().into();
    annotations["deployment.kubernetes.io/desired-replicas"] = replicas.to_string().into();
    annotations["deployment.kubernetes.io/max-replicas"] =
        (replicas + max_surge(deployment)).to_string().into();
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", object::name(deployment)), "namespace": object::namespace(deployment),
            "labels": labels, "annotations": annotations, "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {"replicas": start, "selector": selector, "template": template},
    });
    if let Some(wait) = i64_at(deployment, "spec.minReadySeconds").filter(|w| *w > 0) {
        set_value(&mut set, "spec.minReadySeconds", wait);
    }
    ctx.create_object(&kind, set).ok()
}

fn is_recreate(deployment: &Value) -> bool {
    str_at(deployment, "spec.strategy.type") == "Recreate"
}

fn max_surge(deployment: &Value) -> i64 {
    let replicas = i64_at(deployment, "spec.replicas").unwrap_or(1);
    pods::resolve_int_or_percent(value_at(deployment, "spec.strategy.rollingUpdate.maxSurge"), replicas, true)
}

/// The maximum of unavailable pods; at least 1 if the maximum surge is 0.
fn max_unavailable(deployment: &Value) -> i64 {
    let replicas = i64_at(deployment, "spec.replicas").unwrap_or(1);
    let allowed = pods::resolve_int_or_percent(
        value_at(deployment, "spec.strategy.rollingUpdate.maxUnavailable"),
        replicas,
        false,
    );
    if allowed == 0 && max_surge(deployment) == 0 { 1 } else { allowed.min(replicas) }
}

fn roll_out(ctx: &mut ControllerContext, deployment: &Value, sets: &ReplicaSets) {
    let Some(new) = &sets.new else { return };
    let newest = sets.old.iter().map(|s| revision(&s.value)).max().unwrap_or(0);
    if revision(&new.value) <= newest {
        set_revision(ctx, new, newest + 1);
    }
    let replicas = i64_at(deployment, "spec.replicas").unwrap_or(1);
    let have = i64_at(&new.value, "spec.replicas").unwrap_or(0);
    let old: i64 = sets.old.iter().map(|s| i64_at(&s.value, "spec.replicas").unwrap_or(0)).sum();
    if is_recreate(deployment) {
        for set in &sets.old {
            scale_replica_set(ctx, set, 0);
        }
        let running: i64 = sets.old.iter().map(|s| count_pods(ctx, &s.value)).sum();
        if old == 0 && running == 0 {
            scale_replica_set(ctx, new, replicas);
        }
        return;
    }
    if old == 0 || have > replicas {
        scale_replica_set(ctx, new, replicas);
    }
    let room = replicas + max_surge(deployment) - old - have;
    if have < replicas && room > 0 {
        scale_replica_set(ctx, new, (have + room).min(replicas));
    }
    scale_down_old(ctx, deployment, sets, replicas);
}

fn count_pods(ctx: &mut ControllerContext, set: &Value) -> i64 {
    i64::try_from(ctx.list_controlled(set, "", "Pod").len()).unwrap_or(0)
}

fn scale_down_old(ctx: &mut ControllerContext, deployment: &Value, sets: &ReplicaSets, replicas: i64) {
    let Some(new) = &sets.new else { return };
    let least = replicas - max_unavailable(deployment);
    let new_desired = i64_at(&new.value, "spec.replicas").unwrap_or(0);
    let new_missing = new_desired - i64_at(&new.value, "status.availableReplicas").unwrap_or(0);
    let total: i64 = sets.all().map(|s| i64_at(&s.value, "spec.replicas").unwrap_or(0)).sum();
    let mut spare = total - least - new_missing.max(0);
    for set in &sets.old {
        let have = i64_at(&set.value, "spec.replicas").unwrap_or(0);
        let unhealthy = have - i64_at(&set.value, "status.availableReplicas").unwrap_or(0);
        let go = unhealthy.max(0).min(have).min(spare.max(0));
        if go > 0 {
            scale_replica_set(ctx, set, have - go);
            spare -= go;
        }
    }
    let available: i64 = sets.sum("status.availableReplicas");
    let mut spare = (available - least).min(spare.max(0));
    for set in &sets.old {
        let have = ctx.sim.store.get_by_uid(object::uid(&set.value));
        let have = have.and_then(|(_, s)| i64_at(&s.value, "spec.replicas")).unwrap_or(0);
        let go = have.min(spare.max(0));
        if go > 0 {
            scale_replica_set(ctx, set, have - go);
            spare -= go;
        }
    }
}

fn scale_paused(ctx: &mut ControllerContext, deployment: &Value, sets: &ReplicaSets) {
    let mut running = sets.all().filter(|s| i64_at(&s.value, "spec.replicas").unwrap_or(0) > 0);
    if let (Some(only), None) = (running.next(), running.next()) {
        scale_replica_set(ctx, only, i64_at(deployment, "spec.replicas").unwrap_or(1));
    }
}

fn scale_replica_set(ctx: &mut ControllerContext, set: &Arc<StoredObject>, replicas: i64) {
    if i64_at(&set.value, "spec.replicas") == Some(replicas) {
        return;
    }
    if let Some(kind) = ctx.builtin_kind("apps", "ReplicaSet") {
        ctx.edit_object(&kind, &set.value, "", |set| set_value(set, "spec.replicas", replicas));
    }
}

fn set_revision(ctx: &mut ControllerContext, set: &Arc<StoredObject>, number: i64) {
    if let Some(kind) = ctx.builtin_kind("apps", "ReplicaSet") {
        ctx.edit_object(&kind, &set.value, "", |set| {
            object::value_at_mut(set, "metadata.annotations")[REVISION_ANNOTATION] =
                number.to_string().into();
        });
    }
}

/// Deletes the oldest ReplicaSets beyond the history limit.
fn prune_history(ctx: &mut ControllerContext, deployment: &Value, old: &[Arc<StoredObject>]) {
    let limit = usize::try_from(i64_at(deployment, "spec.revisionHistoryLimit").unwrap_or(10)).unwrap_or(0);
    let empty = |s: &&Arc<StoredObject>| {
        i64_at(&s.value, "spec.replicas") == Some(0) && i64_at(&s.value, "status.replicas").unwrap_or(0) == 0
    };
    let mut done: Vec<&Arc<StoredObject>> = old.iter().filter(empty).collect();
    done.sort_by_key(|s| revision(&s.value));
    let surplus = done.len().saturating_sub(limit);
    if let Some(kind) = ctx.builtin_kind("apps", "ReplicaSet") {
        done.into_iter().take(surplus).for_each(|set| ctx.delete_object(&kind, &set.value));
    }
}
