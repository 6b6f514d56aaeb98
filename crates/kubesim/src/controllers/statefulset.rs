//! StatefulSets: numbered pods in order, each with its volume claims.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::conditions::set_count;
use super::{ControllerContext, events, owner_reference, pods};
use crate::object::{self, array_at, i64_at, set_value, str_at, value_at};
use crate::store::{self, StoredObject};

const REVISION_LABEL: &str = "controller-revision-hash";

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let set = ctx.get_object("apps", "StatefulSet", key)?;
    let set = &set.value;
    if object::is_deleting(set) {
        return None;
    }
    let template = pods::pod_template(set);
    let update = format!("{}-{}", object::name(set), pods::template_hash(&template));
    record_revision(ctx, set, &update, &template);
    let current = match str_at(set, "status.currentRevision") {
        "" => update.clone(),
        current => current.to_owned(),
    };
    let all = ctx.list_controlled(set, "", "Pod");
    let again = reconcile_pods(ctx, set, &all, (&current, &update));
    let left = write_status(ctx, set, (&current, &update));
    again.or(left)
}

fn record_revision(ctx: &mut ControllerContext, set: &Value, name: &str, template: &Value) {
    let Some(kind) = ctx.builtin_kind("apps", "ControllerRevision") else { return };
    let namespace = object::namespace(set);
    if ctx.sim.store.get(kind.id, &store::object_key(namespace, name)).is_some() {
        return;
    }
    let number = ctx.list_controlled(set, "apps", "ControllerRevision").len() + 1;
    let revision = json!({
        "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": number,
        "metadata": {"name": name, "namespace": namespace, "ownerReferences": [owner_reference(set)]},
        "data": {"spec": {"template": template}},
    });
    if let Err(message) = ctx.create_object(&kind, revision) {
        tracing::debug!(message, "the controller revision was not created");
    }
}

fn ordinal(pod: &Value) -> i64 {
    object::name(pod).rsplit('-').next().and_then(|n| n.parse().ok()).unwrap_or(-1)
}

/// Creates, deletes or replaces the next pod in order; with `Parallel`, creates and deletes all at the same time.
fn reconcile_pods(
    ctx: &mut ControllerContext,
    set: &Value,
    all: &[Arc<StoredObject>],
    (current, update): (&str, &str),
) -> Option<Duration> {
    let desired = i64_at(set, "spec.replicas").unwrap_or(1);
    let start = i64_at(set, "spec.ordinals.start").unwrap_or(0);
    let ordered = str_at(set, "spec.podManagementPolicy") != "Parallel";
    let partition = i64_at(set, "spec.updateStrategy.rollingUpdate.partition").unwrap_or(0);
    let find = |number: i64| all.iter().find(|p| ordinal(&p.value) == number);
    let kind = ctx.builtin_kind("", "Pod")?;
    for number in start..start + desired {
        match find(number) {
            None => {
                let revision = if number < partition { current } else { update };
                if let Err(again) = create_pod(ctx, set, number, revision) {
                    return Some(again);
                }
                if ordered {
                    return None;
                }
            }
            // Its node ended it; the pod that replaces it has the same name.
            Some(pod) if matches!(str_at(&pod.value, "status.phase"), "Failed" | "Succeeded") => {
                if !object::is_deleting(&pod.value) {
                    ctx.delete_object(&kind, &pod.value);
                }
                if ordered {
                    return None;
                }
            }
            // Also a pod of an earlier revision, which this revision would replace: somebody has to delete it.
            Some(pod) if ordered && (!pods::is_ready(&pod.value) || object::is_deleting(&pod.value)) => {
                return None;
            }
            Some(_) => {}
        }
    }
    let surplus = |p: &&Arc<StoredObject>| ordinal(&p.value) >= start + desired || ordinal(&p.value) < start;
    let mut extra: Vec<&Arc<StoredObject>> = all.iter().filter(surplus).collect();
    extra.sort_by_key(|p| std::cmp::Reverse(ordinal(&p.value)));
    for pod in extra {
        if !object::is_deleting(&pod.value) {
            ctx.delete_object(&kind, &pod.value);
        }
        if ordered {
            return None;
        }
    }
    if str_at(set, "spec.updateStrategy.type") == "OnDelete" {
        return None;
    }
    for number in (start + partition.max(0)..start + desired).rev() {
        let Some(pod) = find(number) else { continue };
        if object::is_deleting(&pod.value) {
            return None;
        }
        if pod_revision(&pod.value) != update {
            ctx.delete_object(&kind, &pod.value);
            return None;
        }
        if !pods::is_ready(&pod.value) {
            return None;
        }
    }
    None
}

fn pod_revision(pod: &Value) -> &str {
    object::map_at(pod, "metadata.labels").and_then(|l| l.get(REVISION_LABEL)?.as_str()).unwrap_or("")
}

fn create_pod(ctx: &mut ControllerContext, set: &Value, number: i64, revision: &str) -> Result<(), Duration> {
    let Some(kind) = ctx.builtin_kind("", "Pod") else { return Ok(()) };
    let mut template = pods::pod_template(set);
    if revision != format!("{}-{}", object::name(set), pods::template_hash(&template))
        && let Some(old) =
            ctx.get_object("apps", "ControllerRevision", &store::object_key(object::namespace(set), revision))
    {
        template = value_at(&old.value, "data.spec.template").cloned().unwrap_or(template);
    }
    let mut pod = pods::pod_from_template(set, &template);
    let name = format!("{}-{number}", object::name(set));
    set_value(&mut pod, "metadata.name", name.clone());
    let labels = object::value_at_mut(&mut pod, "metadata.labels");
    labels[REVISION_LABEL] = revision.into();
    labels["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
    labels["apps.kubernetes.io/pod-index"] = number.to_string().into();
    set_value(&mut pod, "spec.hostname", name.clone());
    set_value(&mut pod, "spec.subdomain", str_at(set, "spec.serviceName"));
    create_claims(ctx, set, &mut pod, &name);
    let uid = object::uid(set).to_owned();
    match ctx.create_object(&kind, pod) {
        Ok(_) => {
            ctx.state.failed_tries.remove(&uid);
            Ok(())
        }
        Err(message) => {
            let failures = ctx.state.failed_tries.entry(uid).or_default();
            *failures += 1;
            let again = pods::backoff_delay(*failures - 1);
            let text =
                format!("create Pod {name} in StatefulSet {} failed error: {message}", object::name(set));
            events::record_event(ctx, set, ("Warning", "FailedCreate"), &text);
            Err(again)
        }
    }
}

/// Creates one claim per template; claims outlive the pod.
fn create_claims(ctx: &mut ControllerContext, set: &Value, pod: &mut Value, name: &str) {
    let Some(kind) = ctx.builtin_kind("", "PersistentVolumeClaim") else { return };
    let mut volumes = array_at(pod, "spec.volumes").to_vec();
    for template in array_at(set, "spec.volumeClaimTemplates") {
        let volume = str_at(template, "metadata.name");
        let claim_name = format!("{volume}-{name}");
        volumes.retain(|v| str_at(v, "name") != volume);
        volumes.push(json!({"name": volume, "persistentVolumeClaim": {"claimName": claim_name}}));
        let key = store::object_key(object::namespace(set), &claim_name);
        if ctx.sim.store.get(kind.id, &key).is_some() {
            continue;
        }
        let labels = value_at(set, "spec.selector.matchLabels").cloned().unwrap_or_else(|| json!({}));
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": template["spec"],
            "metadata": {"name": claim_name, "namespace": object::namespace(set), "labels": labels},
        });
        if let Some(annotations) = value_at(template, "metadata.annotations") {
            set_value(&mut claim, "metadata.annotations", annotations.clone());
        }
        if let Err(message) = ctx.create_object(&kind, claim) {
            tracing::debug!(message, "the claim was not created");
        }
    }
    if !volumes.is_empty() {
        set_value(pod, "spec.volumes", volumes);
    }
}

fn write_status(
    ctx: &mut ControllerContext,
    set: &Value,
    (current, update): (&str, &str),
) -> Option<Duration> {
    let all: Vec<Arc<StoredObject>> =
        ctx.list_controlled(set, "", "Pod").into_iter().filter(|p| !object::is_deleting(&p.value)).collect();
    let counted = pods::count_ready(ctx, &all, set);
    let of = |revision: &str| {
        i64::try_from(all.iter().filter(|p| pod_revision(&p.value) == revision).count()).unwrap_or(0)
    };
    let (replicas, updated) = (i64::try_from(all.len()).unwrap_or(0), of(update));
    let desired = i64_at(set, "spec.replicas").unwrap_or(1);
    let partition = i64_at(set, "spec.updateStrategy.rollingUpdate.partition").unwrap_or(0);
    let done = updated == desired && counted.ready == desired && replicas == desired && partition == 0;
    let now_current = if done { update } else { current }.to_owned();
    let current_count = of(&now_current);
    let kind = ctx.builtin_kind("apps", "StatefulSet")?;
    ctx.update_status(&kind, set, |live| {
        set_value(live, "status.observedGeneration", i64_at(set, "metadata.generation").unwrap_or(1));
        set_value(live, "status.replicas", replicas);
        set_count(live, "status.readyReplicas", counted.ready);
        set_count(live, "status.currentReplicas", current_count);
        set_count(live, "status.updatedReplicas", updated);
        set_value(live, "status.availableReplicas", counted.available);
        set_value(live, "status.currentRevision", now_current.clone());
        set_value(live, "status.updateRevision", update);
        object::set_default(live, "status.collisionCount", 0);
    });
    counted.recheck_after
}
