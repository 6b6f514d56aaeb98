//! Kinds without a rule of their own, by the conventions of status conditions.

use domain::health::Health;
use serde_json::{Map, Value};

use super::object_view::{ObjectView, StatusCondition};
use super::{MINUTE_MILLIS, degraded, healthy, not_assessed, not_observed, progressing, suspended};

/// Grace period for the first status, in milliseconds.
const FIRST_STATUS: i64 = 30_000;
/// Not ready for this time is degraded, in milliseconds.
const READY_GRACE: i64 = 10 * MINUTE_MILLIS;

const FAILURE_TYPES: [&str; 5] = ["Failed", "Error", "Stalled", "Degraded", "ReplicaFailure"];
const SUCCESS_TYPES: [&str; 12] = [
    "Ready",
    "Available",
    "Healthy",
    "Succeeded",
    "Established",
    "Programmed",
    "Accepted",
    "ResolvedRefs",
    "Valid",
    "Validated",
    "Synced",
    "Reconciled",
];
/// With these controllers say that somebody has stopped them, often beside the Ready=True of before.
const SUSPENSION_TYPES: [&str; 3] = ["Paused", "Suspended", "ReconciliationPaused"];
/// Phases that say the same, in upper or lower case.
const SUSPENSION_PHASES: [&str; 2] = ["Paused", "Suspended"];
const PROGRESS_TYPES: [&str; 4] = ["Progressing", "Reconciling", "Installing", "Updating"];

pub(super) fn assess(view: &ObjectView<'_>) -> Health {
    if view.value_at("/status").is_none_or(is_empty) {
        return if !view.has_status {
            healthy("exists; its kind has no status")
        } else if view.age() < FIRST_STATUS {
            progressing("StatusNotReportedYet", "waiting for its first status")
        } else {
            not_assessed("NoStatus", "exists; it reports no status")
        };
    }
    assess_failure(view)
        .or_else(|| assess_unmet(view))
        .or_else(|| assess_suspended(view))
        .or_else(|| assess_success(view))
        .or_else(|| assess_progress(view))
        .or_else(|| assess_outdated(view))
        .unwrap_or_else(|| assess_phase(view))
}

fn is_empty(status: &Value) -> bool {
    status.as_object().is_some_and(Map::is_empty)
}

fn assess_failure(view: &ObjectView<'_>) -> Option<Health> {
    let condition = current_conditions(view).find(|c| FAILURE_TYPES.contains(&c.kind) && c.is_true())?;
    Some(degraded(condition.reason_or(condition.kind), condition.message))
}

fn current_conditions<'a>(view: &ObjectView<'a>) -> impl Iterator<Item = StatusCondition<'a>> + use<'a> {
    let generation = view.int("/metadata/generation");
    view.conditions().filter(move |condition| !condition.is_outdated(generation))
}

fn assess_unmet(view: &ObjectView<'_>) -> Option<Health> {
    let generation = view.int("/metadata/generation");
    let condition = SUCCESS_TYPES
        .iter()
        .filter_map(|kind| view.condition(kind))
        .find(|condition| !condition.is_true() || condition.is_outdated(generation))?;
    if let Some(observed) = condition.observed_generation.filter(|observed| *observed < generation) {
        return Some(not_observed(view, observed));
    }
    let is_permanent = condition.is_false() && is_permanent(condition.reason);
    let is_overdue = condition.is_false()
        && condition.since.is_some_and(|since| view.now.millis_since(since) >= READY_GRACE);
    let (reason, message) = (condition.reason_or(condition.kind), describe(&condition));
    Some(if is_permanent || is_overdue { degraded(reason, message) } else { progressing(reason, message) })
}

/// Nothing is known but conditions of an older generation.
fn assess_outdated(view: &ObjectView<'_>) -> Option<Health> {
    let generation = view.int("/metadata/generation");
    let outdated = view.conditions().find(|condition| {
        let is_relevant = FAILURE_TYPES.contains(&condition.kind) || PROGRESS_TYPES.contains(&condition.kind);
        is_relevant && condition.is_outdated(generation)
    })?;
    Some(not_observed(view, outdated.observed_generation.unwrap_or_default()))
}

/// Whether a reason is a permanent failure.
fn is_permanent(reason: &str) -> bool {
    reason.ends_with("Error") || reason.ends_with("Failed") || reason.starts_with("Invalid")
}

/// A pause that is reported counts whatever else is: what was ready before says nothing about this revision.
fn assess_suspended(view: &ObjectView<'_>) -> Option<Health> {
    let reported = current_conditions(view).find(|c| SUSPENSION_TYPES.contains(&c.kind) && c.is_true());
    if let Some(condition) = reported {
        return Some(suspended(condition.kind, format!("condition {} is True", condition.kind)));
    }
    let phases = ["/status/phase", "/status/state"].map(|pointer| view.text(pointer));
    let is_reported = |word: &&str| phases.iter().any(|phase| phase.eq_ignore_ascii_case(word));
    let word = SUSPENSION_PHASES.into_iter().find(is_reported)?;
    Some(suspended(word, format!("phase is {word}")))
}

fn assess_success(view: &ObjectView<'_>) -> Option<Health> {
    let condition =
        SUCCESS_TYPES.iter().filter_map(|kind| view.condition(kind)).find(StatusCondition::is_true)?;
    Some(healthy(condition.message))
}

fn assess_progress(view: &ObjectView<'_>) -> Option<Health> {
    let condition = current_conditions(view).find(|c| PROGRESS_TYPES.contains(&c.kind) && c.is_true())?;
    Some(progressing(condition.reason_or(condition.kind), describe(&condition)))
}

fn describe(condition: &StatusCondition<'_>) -> String {
    match condition.message {
        "" => format!("{} is {}", condition.kind, condition.status),
        message => message.to_owned(),
    }
}

fn assess_phase(view: &ObjectView<'_>) -> Health {
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
        "" => not_assessed("NoHealthRule", "exists; no health rule for its kind and no readable conditions"),
        other => {
            not_assessed("UnknownPhase", format!("exists; the meaning of its phase {other:?} is not known"))
        }
    }
}
