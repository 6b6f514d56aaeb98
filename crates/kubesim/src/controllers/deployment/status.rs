//! The status of a Deployment.

use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

use super::{REVISION_ANNOTATION, ReplicaSets, max_unavailable, revision};
use crate::controllers::ControllerContext;
use crate::controllers::conditions::{self, ConditionUpdate};
use crate::object::{self, bool_at, i64_at, set_value, str_at};

/// The replica counts of a Deployment's status.
struct ReplicaCounts {
    replicas: i64,
    updated: i64,
    ready: i64,
    available: i64,
}

/// Writes the status; returns the time left until the progress deadline.
pub(super) fn write_status(
    ctx: &mut ControllerContext,
    deployment: &Value,
    sets: &ReplicaSets,
) -> Option<Duration> {
    let new = |path: &str| sets.new.as_ref().and_then(|s| i64_at(&s.value, path)).unwrap_or(0);
    let numbers = ReplicaCounts {
        replicas: sets.sum("status.replicas"),
        updated: new("status.replicas"),
        ready: sets.sum("status.readyReplicas"),
        available: sets.sum("status.availableReplicas"),
    };
    let desired = i64_at(deployment, "spec.replicas").unwrap_or(1);
    let complete = numbers.updated == desired
        && numbers.replicas == desired
        && numbers.available == desired
        && sets.new.is_some();
    let (late, again) = check_progress_deadline(ctx, deployment, &numbers, complete);
    let name = sets.new.as_ref().map_or("", |s| object::name(&s.value)).to_owned();
    let failure = sets.all().find_map(|s| object::condition(&s.value, "ReplicaFailure").cloned());
    let number = sets.new.as_ref().map(|s| revision(&s.value));
    let least = desired - max_unavailable(deployment);
    let now = ctx.sim.clock.now_rfc3339();
    let kind = ctx.builtin_kind("apps", "Deployment")?;
    ctx.update_status(&kind, deployment, |live| {
        if let Some(number) = number {
            object::value_at_mut(live, "metadata.annotations")[REVISION_ANNOTATION] =
                number.to_string().into();
        }
        write_counts(live, deployment, &numbers, desired);
        set_available_condition(live, numbers.available >= least, &now);
        set_progressing_condition(live, &name, (complete, late), &now);
        match &failure {
            Some(found) => {
                let condition = ConditionUpdate {
                    kind: "ReplicaFailure",
                    status: true,
                    reason: str_at(found, "reason"),
                    message: str_at(found, "message"),
                };
                conditions::set_condition(live, condition, &now, true);
            }
            None => conditions::remove_condition(live, "ReplicaFailure"),
        }
    });
    again
}

fn write_counts(live: &mut Value, observed: &Value, numbers: &ReplicaCounts, desired: i64) {
    set_value(live, "status.observedGeneration", i64_at(observed, "metadata.generation").unwrap_or(1));
    conditions::set_count(live, "status.replicas", numbers.replicas);
    conditions::set_count(live, "status.updatedReplicas", numbers.updated);
    conditions::set_count(live, "status.readyReplicas", numbers.ready);
    conditions::set_count(live, "status.availableReplicas", numbers.available);
    let total = numbers.replicas.max(desired);
    conditions::set_count(live, "status.unavailableReplicas", (total - numbers.available).max(0));
}

fn set_available_condition(live: &mut Value, enough: bool, now: &str) {
    let condition = if enough {
        ConditionUpdate {
            kind: "Available",
            status: true,
            reason: "MinimumReplicasAvailable",
            message: "Deployment has minimum availability.",
        }
    } else {
        ConditionUpdate {
            kind: "Available",
            status: false,
            reason: "MinimumReplicasUnavailable",
            message: "Deployment does not have minimum availability.",
        }
    };
    conditions::set_condition(live, condition, now, true);
}

fn set_progressing_condition(live: &mut Value, set: &str, (complete, late): (bool, bool), now: &str) {
    let before = object::condition(live, "Progressing").map(|c| str_at(c, "reason").to_owned());
    let done = before.as_deref() == Some("NewReplicaSetAvailable");
    let (status, reason, message) = if bool_at(live, "spec.paused") {
        ("Unknown", "DeploymentPaused", "Deployment is paused".to_owned())
    } else if complete {
        ("True", "NewReplicaSetAvailable", format!("ReplicaSet \"{set}\" has successfully progressed."))
    } else if late {
        ("False", "ProgressDeadlineExceeded", format!("ReplicaSet \"{set}\" has timed out progressing."))
    } else if before.is_none() {
        ("True", "NewReplicaSetCreated", format!("Created new replica set \"{set}\""))
    } else if done
        && str_at(object::condition(live, "Progressing").unwrap_or(&Value::Null), "message")
            .contains(&format!("\"{set}\""))
    {
        // A pod that is lost after the rollout does not start a new rollout.
        return;
    } else {
        ("True", "ReplicaSetUpdated", format!("ReplicaSet \"{set}\" is progressing."))
    };
    let condition =
        ConditionUpdate { kind: "Progressing", status: status == "True", reason, message: &message };
    conditions::set_condition(live, condition, now, true);
    if status == "Unknown"
        && let Some(found) = object::value_at_mut(live, "status.conditions").as_array_mut()
    {
        found
            .iter_mut()
            .filter(|c| str_at(c, "type") == "Progressing")
            .for_each(|c| c["status"] = "Unknown".into());
    }
}

/// Whether the rollout has exceeded its progress deadline, and the time left otherwise.
fn check_progress_deadline(
    ctx: &mut ControllerContext,
    deployment: &Value,
    numbers: &ReplicaCounts,
    complete: bool,
) -> (bool, Option<Duration>) {
    let uid = object::uid(deployment).to_owned();
    let seconds = i64_at(deployment, "spec.progressDeadlineSeconds").unwrap_or(600);
    let settled = object::condition(deployment, "Progressing")
        .is_some_and(|c| str_at(c, "reason") == "NewReplicaSetAvailable")
        && i64_at(deployment, "status.observedGeneration") == i64_at(deployment, "metadata.generation");
    if complete || settled || bool_at(deployment, "spec.paused") {
        ctx.state.rollout_progress.remove(&uid);
        return (false, None);
    }
    let now = Instant::now();
    let generation = i64_at(deployment, "metadata.generation").unwrap_or(0);
    let observed = [numbers.updated, numbers.ready, numbers.available, generation];
    let entry = ctx.state.rollout_progress.entry(uid).or_insert((now, observed));
    let [updated, ready, available, before] = entry.1;
    let further = numbers.updated > updated || numbers.ready > ready || numbers.available > available;
    if further || before != generation {
        *entry = (now, observed);
    }
    let due = entry.0 + Duration::from_secs(u64::try_from(seconds).unwrap_or(600));
    match ctx.time_until(due) {
        Some(left) => (false, Some(left)),
        None => (true, None),
    }
}
