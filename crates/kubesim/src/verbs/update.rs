//! PUT, and every edit that reads, changes and writes back.

use std::sync::Arc;

use serde_json::Value;

use super::{Done, TRIES, Target, Write, intake, settle};
use crate::cluster::Sim;
use crate::object::{self, text};
use crate::stats::add;
use crate::status::{Answer, Refusal};
use crate::store::Stored;

/// Replaces an object; with a resourceVersion only if it is still that one.
///
/// # Errors
/// Missing, changed in between, invalid.
pub(crate) fn replace(sim: &Sim, target: &Target, mut value: Value, write: &Write<'_>) -> Answer<Done> {
    let warnings = intake(target, &mut value, write.validation)?;
    let sent = object::name(&value);
    if sent != target.name {
        let message =
            format!("the name of the object ({sent}) does not match the name on the URL ({})", target.name);
        return Err(Refusal::bad_request(message));
    }
    crate::convert::inward(&target.kind, target.version, &mut value);
    let object = edit(sim, target, write, |live| {
        let expected = text(&value, "metadata.resourceVersion");
        if !expected.is_empty() && expected != text(live, "metadata.resourceVersion") {
            return Err(Refusal::modified(&target.kind, &target.name));
        }
        let uid = object::uid(&value);
        if !uid.is_empty() && uid != object::uid(live) {
            let why = format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                object::uid(live)
            );
            return Err(Refusal::conflict(&target.kind, &target.name, &why));
        }
        let managed = object::at(live, "metadata.managedFields").cloned();
        *live = value.clone();
        if let Some(managed) = managed {
            object::put_default(live, "metadata.managedFields", managed);
        }
        Ok(())
    })?;
    Ok(Done { object, created: false, warnings })
}

/// Reads the object, lets `change` change it, finishes and commits it; again if somebody was faster.
///
/// # Errors
/// Missing, refused by `change` or by the checks.
pub(crate) fn edit(
    sim: &Sim,
    target: &Target,
    write: &Write<'_>,
    change: impl Fn(&mut Value) -> Answer<()>,
) -> Answer<Arc<Stored>> {
    for _ in 0..TRIES {
        let old = target.get(sim)?;
        let mut new = old.value.clone();
        change(&mut new)?;
        if let Some(done) = finish(sim, target, &old, new, write)? {
            return Ok(done);
        }
    }
    Err(Refusal::modified(&target.kind, &target.name))
}

fn finish(
    sim: &Sim,
    target: &Target,
    old: &Arc<Stored>,
    mut new: Value,
    write: &Write<'_>,
) -> Answer<Option<Arc<Stored>>> {
    let differs = settle::changed(sim, target, (&old.value, &mut new), write, false)?;
    commit(sim, target, old, differs.then_some(new), write)
}

/// Commits a finished change (`None`: nothing differs); answers none if somebody was faster.
///
/// The last finalizer of an object that is being deleted takes the object with it.
pub(crate) fn commit(
    sim: &Sim,
    target: &Target,
    old: &Arc<Stored>,
    new: Option<Value>,
    write: &Write<'_>,
) -> Answer<Option<Arc<Stored>>> {
    let Some(new) = new else { return Ok(Some(old.clone())) };
    if write.dry_run {
        return Ok(Some(Arc::new(Stored::new(old.rv, new))));
    }
    let (id, key) = (target.kind.id, target.key());
    let gone = object::deleting(&new) && super::delete::complete(&target.kind, &new);
    let done = if gone {
        sim.store.commit(id, &key, Some(old.rv), None)
    } else {
        sim.store.commit(id, &key, Some(old.rv), Some(new))
    };
    if done.is_ok() {
        add(if write.system { &sim.counters.system_writes } else { &sim.counters.client_writes }, 1);
    }
    Ok(done.ok())
}
