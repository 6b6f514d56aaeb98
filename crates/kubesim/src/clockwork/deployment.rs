//! Deployments: one ReplicaSet per pod template, rolled from old to new.

mod status;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Works, owner_reference, pods};
use crate::object::{self, at, flag, int, put, text};
use crate::store::Stored;

const REVISION: &str = "deployment.kubernetes.io/revision";

/// A Deployment's sets.
struct Sets {
    new: Option<Arc<Stored>>,
    old: Vec<Arc<Stored>>,
}

impl Sets {
    fn all(&self) -> impl Iterator<Item = &Arc<Stored>> {
        self.new.iter().chain(&self.old)
    }

    fn sum(&self, path: &str) -> i64 {
        self.all().map(|s| int(&s.value, path).unwrap_or(0)).sum()
    }
}

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let deployment = works.get("apps", "Deployment", key)?;
    let deployment = &deployment.value;
    if object::deleting(deployment) {
        return None;
    }
    let hash = pods::template_hash(&pods::template(deployment));
    let mut sets = find(works, deployment, &hash);
    if !flag(deployment, "spec.paused") {
        if sets.new.is_none() {
            sets.new = make(works, deployment, &hash, &sets.old);
        }
        roll(works, deployment, &sets);
        tidy(works, deployment, &sets.old);
    } else {
        // A paused Deployment rolls nothing, but is still scaled.
        scale_in_proportion(works, deployment, &sets);
    }
    let sets = find(works, deployment, &hash);
    status::report(works, deployment, &sets)
}

fn find(works: &mut Works, deployment: &Value, hash: &str) -> Sets {
    let mut sets = Sets { new: None, old: Vec::new() };
    for set in works.owned(deployment, "apps", "ReplicaSet") {
        if text(&set.value, "metadata.labels.pod-template-hash") == hash {
            sets.new = Some(set);
        } else {
            sets.old.push(set);
        }
    }
    sets
}

fn revision(object: &Value) -> i64 {
    let annotations = object::map(object, "metadata.annotations");
    annotations.and_then(|a| a.get(REVISION)?.as_str()?.parse().ok()).unwrap_or(0)
}

fn make(works: &mut Works, deployment: &Value, hash: &str, old: &[Arc<Stored>]) -> Option<Arc<Stored>> {
    let kind = works.kind("apps", "ReplicaSet")?;
    let mut template = pods::template(deployment);
    let mut labels = at(&template, "metadata.labels").cloned().unwrap_or_else(|| json!({}));
    labels["pod-template-hash"] = hash.into();
    put(&mut template, "metadata.labels", labels.clone());
    let mut selector = at(deployment, "spec.selector").cloned().unwrap_or_else(|| json!({}));
    put(object::place(&mut selector, "matchLabels"), "pod-template-hash", hash);
    let number = old.iter().map(|s| revision(&s.value)).max().unwrap_or(0) + 1;
    let replicas = int(deployment, "spec.replicas").unwrap_or(1);
    let running: i64 = old.iter().map(|s| int(&s.value, "spec.replicas").unwrap_or(0)).sum();
    let start = if old.is_empty() || running == 0 && !recreates(deployment) {
        replicas
    } else if recreates(deployment) {
        0
    } else {
        (replicas + surge(deployment) - running).clamp(0, replicas)
    };
    let mut annotations = at(deployment, "metadata.annotations").cloned().unwrap_or_else(|| json!({}));
    object::remove(&mut annotations, "kubectl\\.kubernetes\\.io/last-applied-configuration");
    if let Some(map) = annotations.as_object_mut() {
        map.shift_remove("kubectl.kubernetes.io/last-applied-configuration");
    }
    annotations[REVISION] = number.to_string().into();
    annotations["deployment.kubernetes.io/desired-replicas"] = replicas.to_string().into();
    annotations["deployment.kubernetes.io/max-replicas"] = (replicas + surge(deployment)).to_string().into();
    let mut set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", object::name(deployment)), "namespace": object::namespace(deployment),
            "labels": labels, "annotations": annotations, "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {"replicas": start, "selector": selector, "template": template},
    });
    if let Some(wait) = int(deployment, "spec.minReadySeconds").filter(|w| *w > 0) {
        put(&mut set, "spec.minReadySeconds", wait);
    }
    works.create(&kind, set).ok()
}

fn recreates(deployment: &Value) -> bool {
    text(deployment, "spec.strategy.type") == "Recreate"
}

fn surge(deployment: &Value) -> i64 {
    let replicas = int(deployment, "spec.replicas").unwrap_or(1);
    pods::share(at(deployment, "spec.strategy.rollingUpdate.maxSurge"), replicas, true)
}

/// How many pods may be missing; never none while nothing may be added either.
fn unavailable(deployment: &Value) -> i64 {
    let replicas = int(deployment, "spec.replicas").unwrap_or(1);
    let allowed = pods::share(at(deployment, "spec.strategy.rollingUpdate.maxUnavailable"), replicas, false);
    if allowed == 0 && surge(deployment) == 0 { 1 } else { allowed.min(replicas) }
}

fn roll(works: &mut Works, deployment: &Value, sets: &Sets) {
    let Some(new) = &sets.new else { return };
    let newest = sets.old.iter().map(|s| revision(&s.value)).max().unwrap_or(0);
    if revision(&new.value) <= newest {
        set_revision(works, new, newest + 1);
    }
    let replicas = int(deployment, "spec.replicas").unwrap_or(1);
    let have = int(&new.value, "spec.replicas").unwrap_or(0);
    let old: i64 = sets.old.iter().map(|s| int(&s.value, "spec.replicas").unwrap_or(0)).sum();
    if recreates(deployment) {
        for set in &sets.old {
            scale(works, set, 0);
        }
        let running: i64 = sets.old.iter().map(|s| living(works, &s.value)).sum();
        if old == 0 && running == 0 {
            scale(works, new, replicas);
        }
        return;
    }
    if old == 0 || have > replicas {
        scale(works, new, replicas);
    }
    let room = replicas + surge(deployment) - old - have;
    if have < replicas && room > 0 {
        scale(works, new, (have + room).min(replicas));
    }
    scale_down_old(works, deployment, sets, replicas);
}

fn living(works: &mut Works, set: &Value) -> i64 {
    i64::try_from(works.owned(set, "", "Pod").len()).unwrap_or(0)
}

fn scale_down_old(works: &mut Works, deployment: &Value, sets: &Sets, replicas: i64) {
    let Some(new) = &sets.new else { return };
    let least = replicas - unavailable(deployment);
    let new_wants = int(&new.value, "spec.replicas").unwrap_or(0);
    let new_lacks = new_wants - int(&new.value, "status.availableReplicas").unwrap_or(0);
    let total: i64 = sets.all().map(|s| int(&s.value, "spec.replicas").unwrap_or(0)).sum();
    let mut spare = total - least - new_lacks.max(0);
    for set in &sets.old {
        let have = int(&set.value, "spec.replicas").unwrap_or(0);
        let sick = have - int(&set.value, "status.availableReplicas").unwrap_or(0);
        let go = sick.max(0).min(have).min(spare.max(0));
        if go > 0 {
            scale(works, set, have - go);
            spare -= go;
        }
    }
    let available: i64 = sets.sum("status.availableReplicas");
    let mut spare = (available - least).min(spare.max(0));
    for set in &sets.old {
        let have = works.sim.store.by_uid(object::uid(&set.value));
        let have = have.and_then(|(_, s)| int(&s.value, "spec.replicas")).unwrap_or(0);
        let go = have.min(spare.max(0));
        if go > 0 {
            scale(works, set, have - go);
            spare -= go;
        }
    }
}

fn scale_in_proportion(works: &mut Works, deployment: &Value, sets: &Sets) {
    let mut running = sets.all().filter(|s| int(&s.value, "spec.replicas").unwrap_or(0) > 0);
    if let (Some(only), None) = (running.next(), running.next()) {
        scale(works, only, int(deployment, "spec.replicas").unwrap_or(1));
    }
}

fn scale(works: &mut Works, set: &Arc<Stored>, replicas: i64) {
    if int(&set.value, "spec.replicas") == Some(replicas) {
        return;
    }
    if let Some(kind) = works.kind("apps", "ReplicaSet") {
        works.edit(&kind, &set.value, "", |set| put(set, "spec.replicas", replicas));
    }
}

fn set_revision(works: &mut Works, set: &Arc<Stored>, number: i64) {
    if let Some(kind) = works.kind("apps", "ReplicaSet") {
        works.edit(&kind, &set.value, "", |set| {
            object::place(set, "metadata.annotations")[REVISION] = number.to_string().into();
        });
    }
}

/// Removes the oldest sets beyond the history limit.
fn tidy(works: &mut Works, deployment: &Value, old: &[Arc<Stored>]) {
    let limit = usize::try_from(int(deployment, "spec.revisionHistoryLimit").unwrap_or(10)).unwrap_or(0);
    let empty = |s: &&Arc<Stored>| {
        int(&s.value, "spec.replicas") == Some(0) && int(&s.value, "status.replicas").unwrap_or(0) == 0
    };
    let mut done: Vec<&Arc<Stored>> = old.iter().filter(empty).collect();
    done.sort_by_key(|s| revision(&s.value));
    let surplus = done.len().saturating_sub(limit);
    if let Some(kind) = works.kind("apps", "ReplicaSet") {
        done.into_iter().take(surplus).for_each(|set| works.delete(&kind, &set.value));
    }
}
