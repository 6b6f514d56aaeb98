//! POST.

use std::sync::Arc;

use serde_json::Value;

use super::{MAX_TRIES, ResourcePath, WriteOptions, WriteResult, prepare, prepare_object};
use crate::cluster::SimState;
use crate::object;
use crate::stats::increment;
use crate::status::{ApiResult, StatusError};
use crate::store::StoredObject;

/// Creates an object.
///
/// # Errors
/// Already exists, forbidden, invalid.
pub(crate) fn create_object(
    sim: &SimState,
    target: &ResourcePath,
    mut value: Value,
    write: &WriteOptions<'_>,
) -> ApiResult<WriteResult> {
    let warnings = prepare_object(target, &mut value, write.field_validation)?;
    let generated = object::name(&value).is_empty();
    let prefix = object::str_at(&value, "metadata.generateName").to_owned();
    if generated && prefix.is_empty() {
        let cause = crate::status::StatusCause::required("metadata.name", "name or generateName is required");
        return Err(StatusError::invalid(&target.kind, "", &[cause]));
    }
    for _ in 0..MAX_TRIES {
        let mut new = value.clone();
        if generated {
            let prefix: String = prefix.chars().take(58).collect();
            object::set_value(&mut new, "metadata.name", format!("{prefix}{}", prepare::generate_suffix()));
        }
        let target = ResourcePath { name: object::name(&new).to_owned(), ..target.clone() };
        prepare::prepare_create(sim, &target, &mut new, write, false)?;
        if let Some(object) = commit_new(sim, &target, new, write)? {
            return Ok(WriteResult { object, created: true, warnings });
        }
        if !generated {
            break;
        }
    }
    Err(StatusError::already_exists(&target.kind, object::name(&value)))
}

/// Commits a prepared new object; `None` if the object already exists.
pub(crate) fn commit_new(
    sim: &SimState,
    target: &ResourcePath,
    new: Value,
    write: &WriteOptions<'_>,
) -> ApiResult<Option<Arc<StoredObject>>> {
    if write.dry_run && sim.store.get(target.kind.id, &target.key()).is_none() {
        return Ok(Some(Arc::new(StoredObject::new(0, new))));
    }
    if write.dry_run {
        return Ok(None);
    }
    let done = sim.store.commit(target.kind.id, &target.key(), None, Some(new)).ok();
    if done.is_some() {
        increment(if write.by_system { &sim.counters.system_writes } else { &sim.counters.client_writes }, 1);
    }
    Ok(done)
}
