//! Somebody changed an object of ours: put it back, or tell (S0-12, P13, P25).

use domain::finding::Finding;
use domain::object::ObjectRef;
use domain::plan::FieldChange;
use domain::report::{DriftNote, DriftOutcome};
use domain::workload::DriftPolicy;
use serde_json::Value;
use tokio::time::Instant;

use super::memory::CONTESTED_AFTER;
use super::pass::Pass;
use super::retry::heal_pause;
use crate::managed;

/// What to do about a drift now.
#[derive(Debug, PartialEq)]
pub(crate) enum Now {
    /// Put it back.
    Heal,
    /// Leave it; it has been told.
    Leave,
}

/// Decides about a drift and takes note of what is not put back. `changes` is empty when the object is gone.
pub(crate) fn decide(pass: &mut Pass<'_>, at: usize, changes: &[FieldChange], live: Option<&Value>) -> Now {
    let prepared = pass.prepared.clone();
    let object = &prepared.objects[pass.targets[at].index].object;
    let fields = paths(changes);
    if pass.policies.drift == DriftPolicy::Notify {
        tell_once(pass, object, &fields, live);
        pass.targets[at].drifted = fields;
        return Now::Leave;
    }
    let memory = pass.memory.object(object);
    let fights = memory.fights();
    let resting = memory.heals.back().map(|last| *last + heal_pause(fights, &pass.cx.options));
    match resting {
        Some(until) if until > Instant::now() => {
            pass.targets[at].drifted = fields.clone();
            pass.wake_at(until);
            if fights >= CONTESTED_AFTER {
                contest(pass, at, object, &fields, live);
            }
            Now::Leave
        }
        _ => Now::Heal,
    }
}

fn tell_once(pass: &mut Pass<'_>, object: &ObjectRef, fields: &[String], live: Option<&Value>) {
    let told = pass.memory.object(object).noted.as_deref() == Some(fields);
    if !told {
        note(pass, object, fields, live, DriftOutcome::Found);
        pass.memory.object(object).noted = Some(fields.to_vec());
    }
}

fn contest(pass: &mut Pass<'_>, at: usize, object: &ObjectRef, fields: &[String], live: Option<&Value>) {
    if !pass.memory.object(object).contested {
        note(pass, object, fields, live, DriftOutcome::Contested);
        pass.memory.object(object).contested = true;
    }
    let manager = manager(fields, live);
    let what = if fields.is_empty() { "it".to_owned() } else { fields.join(", ") };
    pass.targets[at].problem = Some(
        Finding::warning(
            "Contested",
            format!("{object}: {manager} keeps changing {what} back; it was put back {CONTESTED_AFTER} times within 10 min."),
            "Stop the other party, or leave the field out of the workload.",
        )
        .about(object.to_string()),
    );
}

/// Takes note that an object was put back.
pub(crate) fn healed(pass: &mut Pass<'_>, object: &ObjectRef, fields: &[String], before: Option<&Value>) {
    note(pass, object, fields, before, DriftOutcome::Healed);
    let memory = pass.memory.object(object);
    memory.heals.push_back(Instant::now());
    memory.noted = None;
}

fn note(
    pass: &mut Pass<'_>,
    object: &ObjectRef,
    fields: &[String],
    live: Option<&Value>,
    outcome: DriftOutcome,
) {
    pass.memory.drift.push(DriftNote {
        object: object.clone(),
        fields: fields.to_vec(),
        manager: manager(fields, live),
        outcome,
        at: pass.now,
    });
}

/// A deletion leaves no trace of who did it.
fn manager(fields: &[String], live: Option<&Value>) -> String {
    live.map_or_else(|| managed::UNKNOWN.to_owned(), |live| managed::culprit(live, fields))
}

/// The fields that changed.
pub(crate) fn paths(changes: &[FieldChange]) -> Vec<String> {
    changes.iter().map(|change| change.path.clone()).collect()
}
