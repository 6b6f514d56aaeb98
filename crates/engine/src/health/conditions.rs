//! Kinds that nobody has a rule for, by the conventions of their conditions (`health.md` C.2).

use domain::health::{Health, HealthStatus};

use super::view::{Condition, View};
use super::{MINUTE, degraded, healthy, progressing, suspended};

/// A controller may take so long to write the first status.
const FIRST_STATUS: i64 = 30_000;
/// Not ready for so long is a failure.
const PATIENCE: i64 = 10 * MINUTE;

const BAD: [&str; 5] = ["Failed", "Error", "Stalled", "Degraded", "ReplicaFailure"];
const GOOD: [&str; 9] = [
    "Ready",
    "Available",
    "Healthy",
    "Succeeded",
    "Established",
    "Programmed",
    "Accepted",
    "Synced",
    "Reconciled",
];
const MOVING: [&str; 4] = ["Progressing", "Reconciling", "Installing", "Updating"];

pub(super) fn assess(view: &View<'_>) -> Health {
    if !view.has("/status") {
        return if view.age() < FIRST_STATUS {
            progressing("StatusNotReportedYet", "waiting for its first status")
        } else {
            Health::new(HealthStatus::Healthy, "NoStatus", "exists; it reports no status")
        };
    }
    bad(view)
        .or_else(|| not_good(view))
        .or_else(|| good(view))
        .or_else(|| moving(view))
        .unwrap_or_else(|| phase(view))
}

fn bad(view: &View<'_>) -> Option<Health> {
    let condition = view.conditions().find(|c| BAD.contains(&c.kind) && c.is_true())?;
    Some(degraded(condition.reason_or(condition.kind), condition.message))
}

fn not_good(view: &View<'_>) -> Option<Health> {
    let condition = GOOD.iter().filter_map(|kind| view.condition(kind)).find(|c| !c.is_true())?;
    let at_once = condition.is_false() && is_final(condition.reason);
    let overdue =
        condition.is_false() && condition.since.is_some_and(|since| view.now.since(since) >= PATIENCE);
    let (reason, message) = (condition.reason_or(condition.kind), text(&condition));
    Some(if at_once || overdue { degraded(reason, message) } else { progressing(reason, message) })
}

/// Reasons that time will not heal.
fn is_final(reason: &str) -> bool {
    reason.ends_with("Error") || reason.ends_with("Failed") || reason.starts_with("Invalid")
}

fn good(view: &View<'_>) -> Option<Health> {
    let condition = GOOD.iter().filter_map(|kind| view.condition(kind)).find(Condition::is_true)?;
    Some(healthy(condition.message))
}

fn moving(view: &View<'_>) -> Option<Health> {
    let condition = view.conditions().find(|c| MOVING.contains(&c.kind) && c.is_true())?;
    Some(progressing(condition.reason_or(condition.kind), text(&condition)))
}

fn text(condition: &Condition<'_>) -> String {
    match condition.message {
        "" => format!("{} is {}", condition.kind, condition.status),
        message => message.to_owned(),
    }
}

fn phase(view: &View<'_>) -> Health {
    let phase = match view.text("/status/phase") {
        "" => view.text("/status/state"),
        phase => phase,
    };
    let message = format!("phase is {phase}");
    match phase {
        "Running" | "Active" | "Ready" | "Bound" | "Succeeded" | "Complete" | "Completed" | "Deployed"
        | "Available" | "Healthy" => healthy(message),
        "Pending" | "Creating" | "Provisioning" | "Initializing" | "Progressing" | "Updating"
        | "Terminating" => progressing(phase, message),
        "Failed" | "Error" | "Lost" | "CrashLoopBackOff" => degraded(phase, message),
        "Paused" | "Suspended" => suspended(phase, message),
        _ => Health::new(HealthStatus::Healthy, "NoHealthRule", "exists; no rule for its kind"),
    }
}
