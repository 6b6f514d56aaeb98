//! ReplicaSets (and ReplicationControllers): as many pods as asked for.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::conditions::{self, Condition};
use super::{Works, events, pods};
use crate::object::{self, int, put, text};
use crate::store::Stored;

pub(super) fn work(works: &mut Works, key: &str) -> Option<Duration> {
    one(works, ("apps", "ReplicaSet"), key).or_else(|| one(works, ("", "ReplicationController"), key))
}

fn one(works: &mut Works, (group, name): (&'static str, &'static str), key: &str) -> Option<Duration> {
    let kind = works.kind(group, name)?;
    let set = works.sim.store.get(kind.id, key)?;
    let set = &set.value;
    let all = works.owned(set, "", "Pod");
    let active: Vec<Arc<Stored>> = all.into_iter().filter(|p| pods::active(&p.value)).collect();
    let wanted = int(set, "spec.replicas").unwrap_or(1);
    let mut failure = None;
    let mut made = 0;
    if !object::deleting(set) {
        let have = i64::try_from(active.len()).unwrap_or(i64::MAX);
        if have < wanted {
            (made, failure) = make(works, set, wanted - have);
        } else {
            remove(works, &active, have - wanted);
        }
    }
    let uid = object::uid(set).to_owned();
    let again = match &failure {
        None => {
            works.memory.failures.remove(&uid);
            None
        }
        Some(message) => {
            let failures = works.memory.failures.entry(uid).or_default();
            *failures += 1;
            let again = pods::back_off(*failures - 1);
            events::tell(works, set, ("Warning", "FailedCreate"), &format!("Error creating: {message}"));
            Some(again)
        }
    };
    let counted = pods::count(works, &active, set);
    let replicas = (i64::try_from(active.len()).unwrap_or(0) + made).min(wanted.max(0));
    let now = works.sim.clock.stamp();
    works.status(&kind, set, |live| {
        let generation = int(live, "metadata.generation").unwrap_or(1);
        put(live, "status.observedGeneration", generation);
        put(live, "status.replicas", replicas);
        conditions::count(live, "status.fullyLabeledReplicas", replicas);
        conditions::count(live, "status.readyReplicas", counted.ready.min(replicas));
        conditions::count(live, "status.availableReplicas", counted.available.min(replicas));
        match &failure {
            Some(message) => {
                let condition =
                    Condition { kind: "ReplicaFailure", status: true, reason: "FailedCreate", message };
                conditions::set(live, condition, &now, false);
            }
            None => conditions::clear(live, "ReplicaFailure"),
        }
    });
    again.or(counted.again)
}

/// Makes pods until one is refused; how many were made, and the refusal.
fn make(works: &mut Works, set: &Value, missing: i64) -> (i64, Option<String>) {
    let Some(kind) = works.kind("", "Pod") else { return (0, None) };
    let mut pod = pods::from_template(set, &pods::template(set));
    put(&mut pod, "metadata.generateName", format!("{}-", object::name(set)));
    for made in 0..missing {
        if let Err(message) = works.create(&kind, pod.clone()) {
            return (made, Some(message));
        }
    }
    (missing, None)
}

/// Removes pods: those that never got ready first, then the youngest.
fn remove(works: &mut Works, active: &[Arc<Stored>], surplus: i64) {
    let Some(kind) = works.kind("", "Pod") else { return };
    let mut order: Vec<&Arc<Stored>> = active.iter().collect();
    order.sort_by_key(|p| {
        let bound = !text(&p.value, "spec.nodeName").is_empty();
        (
            bound,
            pods::ready(&p.value),
            std::cmp::Reverse(text(&p.value, "metadata.creationTimestamp").to_owned()),
        )
    });
    for pod in order.into_iter().take(usize::try_from(surplus).unwrap_or(0)) {
        works.delete(&kind, &pod.value);
    }
}
