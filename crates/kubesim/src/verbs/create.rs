//! POST.

use std::sync::Arc;

use serde_json::Value;

use super::{Done, TRIES, Target, Write, intake, settle};
use crate::cluster::Sim;
use crate::object;
use crate::stats::add;
use crate::status::{Answer, Refusal};
use crate::store::Stored;

/// Creates an object.
///
/// # Errors
/// Already there, forbidden, invalid.
pub(crate) fn create(sim: &Sim, target: &Target, mut value: Value, write: &Write<'_>) -> Answer<Done> {
    let warnings = intake(target, &mut value, write.validation)?;
    let generated = object::name(&value).is_empty();
    let prefix = object::text(&value, "metadata.generateName").to_owned();
    if generated && prefix.is_empty() {
        let cause = crate::status::Cause::required("metadata.name", "name or generateName is required");
        return Err(Refusal::invalid(&target.kind, "", &[cause]));
    }
    for _ in 0..TRIES {
        let mut new = value.clone();
        if generated {
            let prefix: String = prefix.chars().take(58).collect();
            object::put(&mut new, "metadata.name", format!("{prefix}{}", settle::suffix()));
        }
        let target = Target { name: object::name(&new).to_owned(), ..target.clone() };
        settle::fresh(sim, &target, &mut new, write, false)?;
        if let Some(object) = insert(sim, &target, new, write)? {
            return Ok(Done { object, created: true, warnings });
        }
        if !generated {
            break;
        }
    }
    Err(Refusal::already_exists(&target.kind, object::name(&value)))
}

/// Commits a finished new object; none if somebody was faster.
pub(crate) fn insert(
    sim: &Sim,
    target: &Target,
    new: Value,
    write: &Write<'_>,
) -> Answer<Option<Arc<Stored>>> {
    if write.dry_run && sim.store.get(target.kind.id, &target.key()).is_none() {
        return Ok(Some(Arc::new(Stored::new(0, new))));
    }
    if write.dry_run {
        return Ok(None);
    }
    let done = sim.store.commit(target.kind.id, &target.key(), None, Some(new)).ok();
    if done.is_some() {
        add(if write.system { &sim.counters.system_writes } else { &sim.counters.client_writes }, 1);
    }
    Ok(done)
}
