//! StatefulSets: numbered pods in order, each with its claims.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::conditions::count;
use super::{Works, events, owner_reference, pods};
use crate::object::{self, at, int, list, put, text};
use crate::store::{self, Stored};

const REVISION: &str = "controller-revision-hash";

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    let set = works.get("apps", "StatefulSet", key)?;
    let set = &set.value;
    if object::deleting(set) {
        return None;
    }
    let template = pods::template(set);
    let update = format!("{}-{}", object::name(set), pods::template_hash(&template));
    record(works, set, &update, &template);
    let current = match text(set, "status.currentRevision") {
        "" => update.clone(),
        current => current.to_owned(),
    };
    let all = works.owned(set, "", "Pod");
    let again = step(works, set, &all, (&current, &update));
    let left = report(works, set, (&current, &update));
    again.or(left)
}

fn record(works: &mut Works, set: &Value, name: &str, template: &Value) {
    let Some(kind) = works.kind("apps", "ControllerRevision") else { return };
    let namespace = object::namespace(set);
    if works.sim.store.get(kind.id, &store::key(namespace, name)).is_some() {
        return;
    }
    let number = works.owned(set, "apps", "ControllerRevision").len() + 1;
    let revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": number,
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": [owner_reference(set)]},
        "data": {"spec": {"template": template}},
    });
    if let Err(message) = works.create(&kind, revision) {
        tracing::debug!(message, "controller revision not written");
    }
}

fn ordinal(pod: &Value) -> i64 {
    object::name(pod).rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(-1)
}

/// Makes, removes or replaces the next pod in order; all at once where the set asks for it.
fn step(
    works: &mut Works,
    set: &Value,
    all: &[Arc<Stored>],
    (current, update): (&str, &str),
) -> Option<Duration> {
    let wanted = int(set, "spec.replicas").unwrap_or(1);
    let start = int(set, "spec.ordinals.start").unwrap_or(0);
    let ordered = text(set, "spec.podManagementPolicy") != "Parallel";
    let partition = int(set, "spec.updateStrategy.rollingUpdate.partition").unwrap_or(0);
    let find = |number: i64| all.iter().find(|p| ordinal(&p.value) == number);
    let kind = works.kind("", "Pod")?;
    for number in start..start + wanted {
        match find(number) {
            None => {
                let revision = if number < partition { current } else { update };
                if let Err(again) = make(works, set, number, revision) {
                    return Some(again);
                }
                if ordered {
                    return None;
                }
            }
            Some(pod) if ordered && !pods::ready(&pod.value) && !stale(pod, number, partition, update) => {
                return None;
            }
            Some(pod) if object::deleting(&pod.value) && ordered => return None,
            Some(_) => {}
        }
    }
    let surplus = |p: &&Arc<Stored>| ordinal(&p.value) >= start + wanted || ordinal(&p.value) < start;
    let mut extra: Vec<&Arc<Stored>> = all.iter().filter(surplus).collect();
    extra.sort_by_key(|p| std::cmp::Reverse(ordinal(&p.value)));
    for pod in extra {
        if !object::deleting(&pod.value) {
            works.delete(&kind, &pod.value);
        }
        if ordered {
            return None;
        }
    }
    if text(set, "spec.updateStrategy.type") == "OnDelete" {
        return None;
    }
    for number in (start + partition.max(0)..start + wanted).rev() {
        let Some(pod) = find(number) else { continue };
        if object::deleting(&pod.value) {
            return None;
        }
        if revision_of(&pod.value) != update {
            works.delete(&kind, &pod.value);
            return None;
        }
        if !pods::ready(&pod.value) {
            return None;
        }
    }
    None
}

fn revision_of(pod: &Value) -> &str {
    object::map(pod, "metadata.labels").and_then(|l| l.get(REVISION)?.as_str()).unwrap_or("")
}

/// A pod that will be replaced need not become ready first.
fn stale(pod: &Stored, number: i64, partition: i64, update: &str) -> bool {
    number >= partition && revision_of(&pod.value) != update && !object::deleting(&pod.value)
}

fn make(works: &mut Works, set: &Value, number: i64, revision: &str) -> Result<(), Duration> {
    let Some(kind) = works.kind("", "Pod") else { return Ok(()) };
    let mut template = pods::template(set);
    if revision != format!("{}-{}", object::name(set), pods::template_hash(&template))
        && let Some(old) =
            works.get("apps", "ControllerRevision", &store::key(object::namespace(set), revision))
    {
        template = at(&old.value, "data.spec.template").cloned().unwrap_or(template);
    }
    let mut pod = pods::from_template(set, &template);
    let name = format!("{}-{number}", object::name(set));
    put(&mut pod, "metadata.name", name.clone());
    let labels = object::place(&mut pod, "metadata.labels");
    labels[REVISION] = revision.into();
    labels["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
    labels["apps.kubernetes.io/pod-index"] = number.to_string().into();
    put(&mut pod, "spec.hostname", name.clone());
    put(&mut pod, "spec.subdomain", text(set, "spec.serviceName"));
    claims(works, set, &mut pod, &name);
    let uid = object::uid(set).to_owned();
    match works.create(&kind, pod) {
        Ok(_) => {
            works.memory.failures.remove(&uid);
            Ok(())
        }
        Err(message) => {
            let failures = works.memory.failures.entry(uid).or_default();
            *failures += 1;
            let again = pods::back_off(*failures - 1);
            let text =
                format!("create Pod {name} in StatefulSet {} failed error: {message}", object::name(set));
            events::tell(works, set, ("Warning", "FailedCreate"), &text);
            Err(again)
        }
    }
}

/// One claim per template, kept when the pod goes.
fn claims(works: &mut Works, set: &Value, pod: &mut Value, name: &str) {
    let Some(kind) = works.kind("", "PersistentVolumeClaim") else { return };
    let mut volumes = list(pod, "spec.volumes").to_vec();
    for template in list(set, "spec.volumeClaimTemplates") {
        let volume = text(template, "metadata.name");
        let claim_name = format!("{volume}-{name}");
        volumes.retain(|v| text(v, "name") != volume);
        volumes.push(json!({"name": volume, "persistentVolumeClaim": {"claimName": claim_name}}));
        let key = store::key(object::namespace(set), &claim_name);
        if works.sim.store.get(kind.id, &key).is_some() {
            continue;
        }
        let labels = at(set, "spec.selector.matchLabels").cloned().unwrap_or_else(|| json!({}));
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": template["spec"],
            "metadata": {"name": claim_name, "namespace": object::namespace(set), "labels": labels},
        });
        if let Some(annotations) = at(template, "metadata.annotations") {
            put(&mut claim, "metadata.annotations", annotations.clone());
        }
        if let Err(message) = works.create(&kind, claim) {
            tracing::debug!(message, "claim not written");
        }
    }
    if !volumes.is_empty() {
        put(pod, "spec.volumes", volumes);
    }
}

fn report(works: &mut Works, set: &Value, (current, update): (&str, &str)) -> Option<Duration> {
    let all: Vec<Arc<Stored>> =
        works.owned(set, "", "Pod").into_iter().filter(|p| !object::deleting(&p.value)).collect();
    let counted = pods::count(works, &all, set);
    let of = |revision: &str| {
        i64::try_from(all.iter().filter(|p| revision_of(&p.value) == revision).count()).unwrap_or(0)
    };
    let (replicas, updated) = (i64::try_from(all.len()).unwrap_or(0), of(update));
    let wanted = int(set, "spec.replicas").unwrap_or(1);
    let partition = int(set, "spec.updateStrategy.rollingUpdate.partition").unwrap_or(0);
    let done = updated == wanted && counted.ready == wanted && replicas == wanted && partition == 0;
    let now_current = if done { update } else { current }.to_owned();
    let current_count = of(&now_current);
    let kind = works.kind("apps", "StatefulSet")?;
    works.status(&kind, set, |live| {
        put(live, "status.observedGeneration", int(set, "metadata.generation").unwrap_or(1));
        put(live, "status.replicas", replicas);
        count(live, "status.readyReplicas", counted.ready);
        count(live, "status.currentReplicas", current_count);
        count(live, "status.updatedReplicas", updated);
        put(live, "status.availableReplicas", counted.available);
        put(live, "status.currentRevision", now_current.clone());
        put(live, "status.updateRevision", update);
        object::put_default(live, "status.collisionCount", 0);
    });
    counted.again
}
