//! ReplicaSets and ReplicationControllers: maintain the desired number of pods.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::conditions::{self, ConditionUpdate};
use super::{ControllerContext, events, pods};
use crate::object::{self, i64_at, set_value, str_at};
use crate::store::StoredObject;

pub(super) fn reconcile(ctx: &mut ControllerContext, key: &str) -> Option<Duration> {
    reconcile_kind(ctx, ("apps", "ReplicaSet"), key)
        .or_else(|| reconcile_kind(ctx, ("", "ReplicationController"), key))
}

fn reconcile_kind(
    ctx: &mut ControllerContext,
    (group, name): (&'static str, &'static str),
    key: &str,
) -> Option<Duration> {
    let kind = ctx.builtin_kind(group, name)?;
    let set = ctx.sim.store.get(kind.id, key)?;
    let set = &set.value;
    let all = ctx.list_controlled(set, "", "Pod");
    let active: Vec<Arc<StoredObject>> = all.into_iter().filter(|p| pods::is_active(&p.value)).collect();
    let desired = i64_at(set, "spec.replicas").unwrap_or(1);
    let mut failure = None;
    let mut created = 0;
    if !object::is_deleting(set) {
        let have = i64::try_from(active.len()).unwrap_or(i64::MAX);
        if have < desired {
            (created, failure) = create_pods(ctx, set, desired - have);
        } else {
            delete_surplus_pods(ctx, &active, have - desired);
        }
    }
    let uid = object::uid(set).to_owned();
    let again = match &failure {
        None => {
            ctx.state.failed_tries.remove(&uid);
            None
        }
        Some(message) => {
            let failures = ctx.state.failed_tries.entry(uid).or_default();
            *failures += 1;
            let again = pods::backoff_delay(*failures - 1);
            events::record_event(
                ctx,
                set,
                ("Warning", "FailedCreate"),
                &format!("Error creating: {message}"),
            );
            Some(again)
        }
    };
    let counted = pods::count_ready(ctx, &active, set);
    let replicas = (i64::try_from(active.len()).unwrap_or(0) + created).min(desired.max(0));
    let now = ctx.sim.clock.now_rfc3339();
    ctx.update_status(&kind, set, |live| {
        let generation = i64_at(live, "metadata.generation").unwrap_or(1);
        set_value(live, "status.observedGeneration", generation);
        set_value(live, "status.replicas", replicas);
        conditions::set_count(live, "status.fullyLabeledReplicas", replicas);
        conditions::set_count(live, "status.readyReplicas", counted.ready.min(replicas));
        conditions::set_count(live, "status.availableReplicas", counted.available.min(replicas));
        match &failure {
            // The message names the pod that was not created, which differs with every attempt: a condition that changed with
            // it would trigger the next attempt at once, so the first one stays, as in Kubernetes.
            Some(_) if object::condition(live, "ReplicaFailure").is_some() => {}
            Some(message) => {
                let condition =
                    ConditionUpdate { kind: "ReplicaFailure", status: true, reason: "FailedCreate", message };
                conditions::set_condition(live, condition, &now, false);
            }
            None => conditions::remove_condition(live, "ReplicaFailure"),
        }
    });
    again.or(counted.recheck_after)
}

/// Creates pods until one is rejected; returns the number created and the error message.
fn create_pods(ctx: &mut ControllerContext, set: &Value, missing: i64) -> (i64, Option<String>) {
    let Some(kind) = ctx.builtin_kind("", "Pod") else { return (0, None) };
    let mut pod = pods::pod_from_template(set, &pods::pod_template(set));
    set_value(&mut pod, "metadata.generateName", format!("{}-", object::name(set)));
    for created in 0..missing {
        if let Err(message) = ctx.create_object(&kind, pod.clone()) {
            return (created, Some(message));
        }
    }
    (missing, None)
}

/// Deletes pods: unscheduled ones first, then unready ones, then the youngest.
fn delete_surplus_pods(ctx: &mut ControllerContext, active: &[Arc<StoredObject>], surplus: i64) {
    let Some(kind) = ctx.builtin_kind("", "Pod") else { return };
    let mut order: Vec<&Arc<StoredObject>> = active.iter().collect();
    order.sort_by_key(|p| {
        let bound = !str_at(&p.value, "spec.nodeName").is_empty();
        (
            bound,
            pods::is_ready(&p.value),
            std::cmp::Reverse(str_at(&p.value, "metadata.creationTimestamp").to_owned()),
        )
    });
    for pod in order.into_iter().take(usize::try_from(surplus).unwrap_or(0)) {
        ctx.delete_object(&kind, &pod.value);
    }
}
