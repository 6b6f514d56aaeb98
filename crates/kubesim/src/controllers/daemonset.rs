//! DaemonSets: one pod on every matching node.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::conditions::set_count;
use super::{ControllerContext, events, node, pods};
use crate::object::{self, i64_at, set_value, str_at, value_at};
use crate::store::StoredObject;

const HASH_LABEL: &str = "controller-revision-hash";

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    let set = ctx.get_object("apps", "DaemonSet", key)?;
    let set = &set.value;
    if object::is_deleting(set) {
        return None;
    }
    let template = pods::pod_template(set);
    let hash = pods::template_hash(&template);
    let node_kind = ctx.builtin_kind("", "Node")?;
    let probe = json!({"spec": template["spec"]});
    let nodes: Vec<String> = ctx
        .sim
        .store
        .list(node_kind.id, None)
        .0
        .iter()
        .filter(|n| node::matches_node_selector(&n.value, &probe))
        .map(|n| object::name(&n.value).to_owned())
        .collect();
    let failed = reconcile_pods(ctx, set, &nodes, &hash);
    let again = write_status(ctx, set, &nodes, &hash);
    failed.or(again)
}

fn active_pods(ctx: &mut ControllerContext, set: &Value) -> Vec<Arc<StoredObject>> {
    ctx.list_controlled(set, "", "Pod").into_iter().filter(|p| pods::is_active(&p.value)).collect()
}

fn pod_hash(pod: &Value) -> &str {
    object::map_at(pod, "metadata.labels").and_then(|l| l.get(HASH_LABEL)?.as_str()).unwrap_or("")
}

/// Creates missing pods, deletes pods on nodes that do not match, replaces outdated pods within `maxUnavailable`.
fn reconcile_pods(
    ctx: &mut ControllerContext,
    set: &Value,
    nodes: &[String],
    hash: &str,
) -> Option<Duration> {
    let kind = ctx.builtin_kind("", "Pod")?;
    let all = ctx.list_controlled(set, "", "Pod");
    let on = |node: &str| all.iter().find(|p| str_at(&p.value, "spec.nodeName") == node);
    for pod in all.iter().filter(|p| !nodes.iter().any(|n| n == str_at(&p.value, "spec.nodeName"))) {
        ctx.delete_object(&kind, &pod.value);
    }
    for node in nodes.iter().filter(|n| on(n).is_none()) {
        let mut pod = pods::pod_from_template(set, &pods::pod_template(set));
        set_value(&mut pod, "metadata.generateName", format!("{}-", object::name(set)));
        object::value_at_mut(&mut pod, "metadata.labels")[HASH_LABEL] = hash.into();
        set_value(&mut pod, "spec.nodeName", node.as_str());
        let uid = object::uid(set).to_owned();
        if let Err(message) = ctx.create_object(&kind, pod) {
            let failures = ctx.state.failed_tries.entry(uid).or_default();
            *failures += 1;
            let again = pods::backoff_delay(*failures - 1);
            events::record_event(
                ctx,
                set,
                ("Warning", "FailedCreate"),
                &format!("Error creating: {message}"),
            );
            return Some(again);
        }
        ctx.state.failed_tries.remove(&uid);
    }
    if str_at(set, "spec.updateStrategy.type") == "OnDelete" {
        return None;
    }
    let total = i64::try_from(nodes.len()).unwrap_or(0);
    let most = pods::resolve_int_or_percent(
        value_at(set, "spec.updateStrategy.rollingUpdate.maxUnavailable"),
        total,
        true,
    )
    .max(1);
    let ready =
        i64::try_from(all.iter().filter(|p| pods::is_ready(&p.value) && pods::is_active(&p.value)).count())
            .unwrap_or(0);
    let mut room = most - (total - ready);
    for pod in all.iter().filter(|p| pods::is_active(&p.value) && pod_hash(&p.value) != hash) {
        // Replacing an outdated pod that is not ready does not reduce availability.
        if pods::is_ready(&pod.value) {
            if room <= 0 {
                continue;
            }
            room -= 1;
        }
        ctx.delete_object(&kind, &pod.value);
    }
    None
}

fn write_status(ctx: &mut ControllerContext, set: &Value, nodes: &[String], hash: &str) -> Option<Duration> {
    let all = active_pods(ctx, set);
    let counted = pods::count_ready(ctx, &all, set);
    let number = |n: usize| i64::try_from(n).unwrap_or(0);
    let desired = number(nodes.len());
    let updated = number(all.iter().filter(|p| pod_hash(&p.value) == hash).count());
    let kind = ctx.builtin_kind("apps", "DaemonSet")?;
    ctx.update_status(&kind, set, |live| {
        set_value(live, "status.observedGeneration", i64_at(set, "metadata.generation").unwrap_or(1));
        set_value(live, "status.currentNumberScheduled", number(all.len()).min(desired));
        set_value(live, "status.desiredNumberScheduled", desired);
        set_value(live, "status.numberMisscheduled", 0);
        set_value(live, "status.numberReady", counted.ready);
        set_count(live, "status.updatedNumberScheduled", updated);
        set_count(live, "status.numberAvailable", counted.available);
        set_count(live, "status.numberUnavailable", (desired - counted.available).max(0));
    });
    counted.recheck_after
}
