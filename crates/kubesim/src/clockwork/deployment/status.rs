//! What a Deployment says of its rollout.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{REVISION, Sets, revision, unavailable};
use crate::clockwork::Works;
use crate::clockwork::conditions::{self, Condition};
use crate::object::{self, flag, int, put, text};

/// The numbers of a Deployment's status.
struct Numbers {
    replicas: i64,
    updated: i64,
    ready: i64,
    available: i64,
}

/// Writes the status; answers when its deadline passes.
pub(super) fn report(works: &mut Works, deployment: &Value, sets: &Sets) -> Option<Duration> {
    let new = |path: &str| sets.new.as_ref().and_then(|s| int(&s.value, path)).unwrap_or(0);
    let numbers = Numbers {
        replicas: sets.sum("status.replicas"),
        updated: new("status.replicas"),
        ready: sets.sum("status.readyReplicas"),
        available: sets.sum("status.availableReplicas"),
    };
    let wanted = int(deployment, "spec.replicas").unwrap_or(1);
    let complete = numbers.updated == wanted
        && numbers.replicas == wanted
        && numbers.available == wanted
        && sets.new.is_some();
    let (late, again) = deadline(works, deployment, &numbers, complete);
    let name = sets.new.as_ref().map_or("", |s| object::name(&s.value)).to_owned();
    let failure = sets.all().find_map(|s| object::condition(&s.value, "ReplicaFailure").cloned());
    let number = sets.new.as_ref().map(|s| revision(&s.value));
    let least = wanted - unavailable(deployment);
    let now = works.sim.clock.stamp();
    let kind = works.kind("apps", "Deployment")?;
    works.status(&kind, deployment, |live| {
        if let Some(number) = number {
            object::place(live, "metadata.annotations")[REVISION] = number.to_string().into();
        }
        write_numbers(live, deployment, &numbers, wanted);
        available(live, numbers.available >= least, &now);
        progressing(live, &name, (complete, late), &now);
        match &failure {
            Some(found) => {
                let condition = Condition {
                    kind: "ReplicaFailure",
                    status: true,
                    reason: text(found, "reason"),
                    message: text(found, "message"),
                };
                conditions::set(live, condition, &now, true);
            }
            None => conditions::clear(live, "ReplicaFailure"),
        }
    });
    again
}

fn write_numbers(live: &mut Value, seen: &Value, numbers: &Numbers, wanted: i64) {
    put(live, "status.observedGeneration", int(seen, "metadata.generation").unwrap_or(1));
    conditions::count(live, "status.replicas", numbers.replicas);
    conditions::count(live, "status.updatedReplicas", numbers.updated);
    conditions::count(live, "status.readyReplicas", numbers.ready);
    conditions::count(live, "status.availableReplicas", numbers.available);
    let total = numbers.replicas.max(wanted);
    conditions::count(live, "status.unavailableReplicas", (total - numbers.available).max(0));
}

fn available(live: &mut Value, enough: bool, now: &str) {
    let condition = if enough {
        Condition {
            kind: "Available",
            status: true,
            reason: "MinimumReplicasAvailable",
            message: "Deployment has minimum availability.",
        }
    } else {
        Condition {
            kind: "Available",
            status: false,
            reason: "MinimumReplicasUnavailable",
            message: "Deployment does not have minimum availability.",
        }
    };
    conditions::set(live, condition, now, true);
}

fn progressing(live: &mut Value, set: &str, (complete, late): (bool, bool), now: &str) {
    let before = object::condition(live, "Progressing").map(|c| text(c, "reason").to_owned());
    let done = before.as_deref() == Some("NewReplicaSetAvailable");
    let (status, reason, message) = if flag(live, "spec.paused") {
        ("Unknown", "DeploymentPaused", "Deployment is paused".to_owned())
    } else if complete {
        ("True", "NewReplicaSetAvailable", format!("ReplicaSet \"{set}\" has successfully progressed."))
    } else if late {
        ("False", "ProgressDeadlineExceeded", format!("ReplicaSet \"{set}\" has timed out progressing."))
    } else if before.is_none() {
        ("True", "NewReplicaSetCreated", format!("Created new replica set \"{set}\""))
    } else if done
        && text(object::condition(live, "Progressing").unwrap_or(&Value::Null), "message")
            .contains(&format!("\"{set}\""))
    {
        // A pod lost after the rollout is no new rollout.
        return;
    } else {
        ("True", "ReplicaSetUpdated", format!("ReplicaSet \"{set}\" is progressing."))
    };
    let condition = Condition { kind: "Progressing", status: status == "True", reason, message: &message };
    conditions::set(live, condition, now, true);
    if status == "Unknown"
        && let Some(found) = object::place(live, "status.conditions").as_array_mut()
    {
        found
            .iter_mut()
            .filter(|c| text(c, "type") == "Progressing")
            .for_each(|c| c["status"] = "Unknown".into());
    }
}

/// Whether the rollout is past its deadline, and when it will be.
fn deadline(
    works: &mut Works,
    deployment: &Value,
    numbers: &Numbers,
    complete: bool,
) -> (bool, Option<Duration>) {
    let uid = object::uid(deployment).to_owned();
    let seconds = int(deployment, "spec.progressDeadlineSeconds").unwrap_or(600);
    let settled = object::condition(deployment, "Progressing")
        .is_some_and(|c| text(c, "reason") == "NewReplicaSetAvailable")
        && int(deployment, "status.observedGeneration") == int(deployment, "metadata.generation");
    if complete || settled || flag(deployment, "spec.paused") {
        works.memory.progress.remove(&uid);
        return (false, None);
    }
    let now = Instant::now();
    let generation = int(deployment, "metadata.generation").unwrap_or(0);
    let seen = [numbers.updated, numbers.ready, numbers.available, generation];
    let entry = works.memory.progress.entry(uid).or_insert((now, seen));
    let [updated, ready, available, before] = entry.1;
    let further = numbers.updated > updated || numbers.ready > ready || numbers.available > available;
    if further || before != generation {
        *entry = (now, seen);
    }
    let due = entry.0 + Duration::from_secs(u64::try_from(seconds).unwrap_or(600));
    match works.until(due) {
        Some(left) => (false, Some(left)),
        None => (true, None),
    }
}
