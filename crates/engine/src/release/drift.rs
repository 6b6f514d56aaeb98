//! Drift of managed objects: self-heal or report (S0-12, P13, P25). A field that another manager changes again and again is left.
//! A sync that a user requests reverts it under either policy.

use std::sync::Arc;

use domain::drift::CONTESTED;
use domain::finding::Finding;
use domain::managed_fields;
use domain::object::ObjectRef;
use domain::plan::FieldChange;
use domain::report::{DriftOutcome, DriftReport, DriftedField};
use domain::workload::DriftPolicy;
use serde_json::Value;
use tokio::time::Instant;

use super::reconcile_state::{CONTESTED_AFTER, CONTESTED_BY_CONTROLLER_AFTER, Heal};
use super::reconciliation::Reconciliation;
use super::retry::heal_backoff;
use crate::observe::LiveObject;

/// Action for one drifted object.
#[derive(Debug, PartialEq)]
pub(crate) enum DriftAction {
    /// Self-heal: apply the desired content.
    Heal,
    /// Leave the object as it is; the drift is reported.
    Leave,
}

/// Decides the action for a drift and records drift that is not healed. `changes` is empty if the object is missing.
pub(crate) fn decide_drift_action(
    pass: &mut Reconciliation<'_>,
    at: usize,
    changes: &[FieldChange],
    live: Option<&Value>,
) -> DriftAction {
    let desired = Arc::clone(&pass.targets[at].desired);
    let object = &desired.object;
    let is_reverted = pass.policies.drift == DriftPolicy::Revert || pass.state.reverts_drift;
    if !is_reverted || pass.is_suspended() {
        let fields = describe_fields(changes, live);
        report_drift_once(pass, object, &fields, live);
        pass.targets[at].drifted_fields = fields;
        return DriftAction::Leave;
    }
    let object_state = pass.state.object_mut(object);
    let recent_heals = object_state.recent_heals();
    for change in changes {
        let manager = changing_manager(std::slice::from_ref(&change.path), live);
        if object_state.is_healed_repeatedly(&change.path)
            || object_state.is_healed_against(&change.path, &manager)
        {
            object_state.contested.insert(change.path.clone());
        }
    }
    // Another heal would only continue the fight; a person decides by a publish or a sync.
    let is_left =
        !changes.is_empty() && changes.iter().all(|change| object_state.contested.contains(&change.path));
    let next_heal =
        object_state.heals.back().map(|last| last.at + heal_backoff(recent_heals, &pass.cx.options));
    match next_heal {
        _ if is_left => {
            let fields = describe_fields(changes, live);
            report_contest(pass, at, object, &fields, live);
            pass.targets[at].drifted_fields = fields;
            DriftAction::Leave
        }
        Some(next) if next > Instant::now() => {
            let fields = describe_fields(changes, live);
            pass.wake_at(next);
            if recent_heals >= CONTESTED_AFTER {
                report_contest(pass, at, object, &fields, live);
            }
            pass.targets[at].drifted_fields = fields;
            DriftAction::Leave
        }
        _ => DriftAction::Heal,
    }
}

fn report_drift_once(
    pass: &mut Reconciliation<'_>,
    object: &ObjectRef,
    fields: &[DriftedField],
    live: Option<&Value>,
) {
    let paths = field_paths(fields);
    let is_reported = pass.state.object_mut(object).reported_drift.as_ref() == Some(&paths);
    if !is_reported {
        push_drift_note(pass, object, fields, live, DriftOutcome::Found);
        pass.state.object_mut(object).reported_drift = Some(paths);
    }
}

/// Reports once that a scaler sets fields of an object to other values than its manifest. They are left to it, so the release has not
/// drifted, and it is no contest.
pub(crate) fn report_scaler(pass: &mut Reconciliation<'_>, at: usize, live: Option<&LiveObject>) {
    let desired = Arc::clone(&pass.targets[at].desired);
    let scaler = live.map(|live| live.scaler.as_str()).unwrap_or_default();
    if pass.state.object_mut(&desired.object).reported_scaler == scaler {
        return;
    }
    let Some(live) = live.filter(|live| !live.scaler.is_empty()) else {
        pass.state.object_mut(&desired.object).reported_scaler.clear();
        return;
    };
    let policies = pass.object_policies.clone();
    let policy = policies.for_object(&pass.policies, &desired.object);
    if desired.is_autoscaled(&policy) {
        return;
    }
    let (manifest, value) = (desired.value(), live.value());
    let scaled = desired.left_to_scalers(&policy, &value);
    let changes: Vec<FieldChange> = scaled
        .iter()
        .filter_map(|field| {
            let (desired, live) = (field.path.get(&manifest)?, field.path.get(&value)?);
            let path = field.path.to_string();
            (desired != live && !policy.is_ignored(&path)).then(|| FieldChange {
                path,
                desired: Some(desired.clone()),
                live: Some(live.clone()),
            })
        })
        .collect();
    if !changes.is_empty() {
        let fields = describe_fields(&changes, Some(&value));
        push_drift_note(pass, &desired.object, &fields, Some(&value), DriftOutcome::Found);
        pass.state.object_mut(&desired.object).reported_scaler.clone_from(&live.scaler);
    }
}

fn report_contest(
    pass: &mut Reconciliation<'_>,
    at: usize,
    object: &ObjectRef,
    fields: &[DriftedField],
    live: Option<&Value>,
) {
    if !pass.state.object_mut(object).is_contest_reported {
        push_drift_note(pass, object, fields, live, DriftOutcome::Contested);
        pass.state.object_mut(object).is_contest_reported = true;
    }
    let manager = changing_manager(&field_paths(fields), live);
    let fields = if fields.is_empty() { "it".to_owned() } else { field_paths(fields).join(", ") };
    pass.targets[at].problem = Some(
        Finding::warning(
            CONTESTED,
            format!(
                "{object}: {manager} repeatedly changes {fields}; self-heal reverted it {CONTESTED_AFTER} times within 10 min, or \
                 {CONTESTED_BY_CONTROLLER_AFTER} times within a day against the same controller."
            ),
            "Stop the other manager and sync the cluster, or remove or ignore the field in the workload.",
        )
        .with_object(object.to_string()),
    );
}

/// Records that an object was self-healed.
pub(crate) fn record_heal(
    pass: &mut Reconciliation<'_>,
    object: &ObjectRef,
    fields: &[DriftedField],
    before: Option<&Value>,
) {
    push_drift_note(pass, object, fields, before, DriftOutcome::Healed);
    let object_state = pass.state.object_mut(object);
    object_state.heals.push_back(Heal { at: Instant::now(), fields: field_paths(fields) });
    // A person who repeats an edit within a day decides each time; a controller does not.
    for field in fields.iter().filter(|field| is_controller(&field.manager)) {
        object_state.count_controller_heal(&field.path, &field.manager);
    }
    object_state.reported_drift = None;
}

/// Whether a field manager is a program that acts by itself, as far as its name tells.
fn is_controller(manager: &str) -> bool {
    !manager.is_empty() && manager != managed_fields::UNKNOWN_MANAGER && !managed_fields::is_person(manager)
}

pub(super) fn push_drift_note(
    pass: &mut Reconciliation<'_>,
    object: &ObjectRef,
    fields: &[DriftedField],
    live: Option<&Value>,
    outcome: DriftOutcome,
) {
    pass.state.drift_notes.push(DriftReport {
        object: object.clone(),
        fields: field_paths(fields),
        values: fields.iter().filter(|field| field.has_values()).cloned().collect(),
        manager: changing_manager(&field_paths(fields), live),
        outcome,
        at: pass.now,
    });
}

/// The manager that changed the fields; unknown for a deletion, which leaves no trace.
fn changing_manager(fields: &[String], live: Option<&Value>) -> String {
    live.map_or_else(
        || managed_fields::UNKNOWN_MANAGER.to_owned(),
        |live| managed_fields::changing_manager(live, fields),
    )
}

/// The changed fields with their values and the managers that changed them.
pub(crate) fn describe_fields(changes: &[FieldChange], live: Option<&Value>) -> Vec<DriftedField> {
    let describe = |change: &FieldChange| {
        let writer = live.map(|live| managed_fields::find_writer(live, std::slice::from_ref(&change.path)));
        let unknown = || managed_fields::UNKNOWN_MANAGER.to_owned();
        DriftedField {
            path: change.path.clone(),
            applied: change.desired.clone(),
            live: change.live.clone(),
            manager: writer.as_ref().map_or_else(unknown, |writer| writer.manager.clone()),
            operation: writer.as_ref().map(|writer| writer.operation.clone()).unwrap_or_default(),
            changed_at: writer.and_then(|writer| writer.at),
        }
    };
    changes.iter().map(describe).collect()
}

/// Paths of the changed fields.
pub(super) fn field_paths(fields: &[DriftedField]) -> Vec<String> {
    fields.iter().map(|field| field.path.clone()).collect()
}
