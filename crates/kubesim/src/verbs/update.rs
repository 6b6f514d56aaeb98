//! PUT, and every read-modify-write edit.

use std::sync::Arc;

use serde_json::Value;

use super::{MAX_TRIES, ResourcePath, WriteOptions, WriteResult, prepare, prepare_object};
use crate::cluster::SimState;
use crate::object::{self, str_at};
use crate::stats::increment;
use crate::status::{ApiResult, StatusError};
use crate::store::StoredObject;

/// Replaces an object; if `resourceVersion` is sent, only if it is still current.
///
/// # Errors
/// Not found, changed concurrently, invalid.
pub(crate) fn replace_object(
    sim: &SimState,
    target: &ResourcePath,
    mut value: Value,
    write: &WriteOptions<'_>,
) -> ApiResult<WriteResult> {
    let warnings = prepare_object(target, &mut value, write.field_validation)?;
    let sent = object::name(&value);
    if sent != target.name {
        let message =
            format!("the name of the object ({sent}) does not match the name on the URL ({})", target.name);
        return Err(StatusError::bad_request(message));
    }
    crate::convert::convert_to_storage(&target.kind, target.version, &mut value);
    let object = edit_object(sim, target, write, |live| {
        let expected = str_at(&value, "metadata.resourceVersion");
        if !expected.is_empty() && expected != str_at(live, "metadata.resourceVersion") {
            return Err(StatusError::modified(&target.kind, &target.name));
        }
        let uid = object::uid(&value);
        if !uid.is_empty() && uid != object::uid(live) {
            let why = format!(
                "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
                object::uid(live)
            );
            return Err(StatusError::conflict(&target.kind, &target.name, &why));
        }
        let managed = object::value_at(live, "metadata.managedFields").cloned();
        *live = value.clone();
        if let Some(managed) = managed {
            object::set_default(live, "metadata.managedFields", managed);
        }
        Ok(())
    })?;
    Ok(WriteResult { object, created: false, warnings })
}

/// Reads the object, applies `change`, prepares and commits it; retries on a concurrent write.
///
/// # Errors
/// Not found, rejected by `change` or by validation.
pub(crate) fn edit_object(
    sim: &SimState,
    target: &ResourcePath,
    write: &WriteOptions<'_>,
    change: impl Fn(&mut Value) -> ApiResult<()>,
) -> ApiResult<Arc<StoredObject>> {
    for _ in 0..MAX_TRIES {
        let old = target.get(sim)?;
        let mut new = old.value.clone();
        change(&mut new)?;
        if let Some(done) = prepare_and_commit(sim, target, &old, new, write)? {
            return Ok(done);
        }
    }
    Err(StatusError::modified(&target.kind, &target.name))
}

fn prepare_and_commit(
    sim: &SimState,
    target: &ResourcePath,
    old: &Arc<StoredObject>,
    mut new: Value,
    write: &WriteOptions<'_>,
) -> ApiResult<Option<Arc<StoredObject>>> {
    let differs = prepare::prepare_update(sim, target, (&old.value, &mut new), write, false)?;
    commit_change(sim, target, old, differs.then_some(new), write)
}

/// Commits a prepared change (`None`: nothing differs); returns `None` on a concurrent write.
///
/// Removing the last finalizer of an object that is being deleted removes the object.
pub(crate) fn commit_change(
    sim: &SimState,
    target: &ResourcePath,
    old: &Arc<StoredObject>,
    new: Option<Value>,
    write: &WriteOptions<'_>,
) -> ApiResult<Option<Arc<StoredObject>>> {
    let Some(new) = new else { return Ok(Some(old.clone())) };
    if write.dry_run {
        return Ok(Some(Arc::new(StoredObject::new(old.rv, new))));
    }
    let (id, key) = (target.kind.id, target.key());
    let gone = object::is_deleting(&new) && super::delete::is_removable(&target.kind, &new);
    let done = if gone {
        sim.store.commit(id, &key, Some(old.rv), None)
    } else {
        sim.store.commit(id, &key, Some(old.rv), Some(new))
    };
    if done.is_ok() {
        increment(if write.by_system { &sim.counters.system_writes } else { &sim.counters.client_writes }, 1);
    }
    Ok(done.ok())
}
