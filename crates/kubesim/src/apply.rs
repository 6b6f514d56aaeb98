//! Server-side apply and the tracking of field ownership.
//!
//! The rules are those of Kubernetes' structured merge: an applier owns exactly the fields it sends; a field it no
//! longer sends is removed unless another manager owns it; changing a field of another manager is a conflict unless
//! forced. [`fields`] has sets of field paths, [`managed`] their form in `metadata.managedFields`.

pub(crate) mod compare;
pub(crate) mod fields;
pub(crate) mod managed;
pub(crate) mod merge;

use serde_json::Value;

use crate::object;
use crate::schema::TypeRef;
use crate::status::{ApiResult, StatusCause, StatusError};
use compare::compare_objects;
use fields::{FieldSet, build_field_set};
use managed::{ManagedFields, ManagedFieldsEntry, ManagedFieldsOperation};

/// The identity of a write in `metadata.managedFields`.
#[derive(Clone, Copy)]
pub(crate) struct FieldManager<'a> {
    pub manager: &'a str,
    pub subresource: &'a str,
    pub api_version: &'a str,
    pub now: &'a str,
}

/// Applies `config` to `live` (an empty object on creation).
///
/// # Errors
/// A conflict that lists every field and its owner, unless `force`.
pub(crate) fn apply_config(
    live: &Value,
    config: &Value,
    ty: TypeRef<'_>,
    writer: FieldManager<'_>,
    force: bool,
) -> ApiResult<Value> {
    let mut config = config.clone();
    object::remove_value(&mut config, "metadata.managedFields");
    strip_reset_fields(&mut config, writer.subresource);
    let mut managers = ManagedFields::from_object(live);
    if managers.is_empty() && !object::uid(live).is_empty() {
        managers.add_before_first_apply(build_field_set(live, ty).without_identity(), writer);
    }
    let applied = build_field_set(&config, ty).without_identity();
    let last = managers.applied_fields(writer).cloned();
    let mut merged = live.clone();
    object::remove_value(&mut merged, "metadata.managedFields");
    merge::merge_config(&mut merged, &config, ty);
    managers.set_applied_fields(writer, applied);
    if let Some(last) = &last {
        merge::prune_fields(&mut merged, last, &managers.owned_fields(), ty);
    }
    let diff = compare_objects(live, &merged, ty);
    let touched = diff.modified.union(&diff.added).without_identity();
    let conflicts = managers.apply_conflicts(writer, &touched);
    if !conflicts.is_empty() {
        if !force {
            return Err(conflict_error(&conflicts));
        }
        managers.revoke_fields(&conflicts);
    }
    managers.remove_fields(&diff.removed);
    managers.write_to(&mut merged);
    Ok(merged)
}

/// Records in `new` the fields that `writer` changed relative to `live` by a write other than apply.
pub(crate) fn record_ownership(live: &Value, new: &mut Value, ty: TypeRef<'_>, writer: FieldManager<'_>) {
    // A client may end the ownership of others; without entries of its own the known ones stay.
    let mut managers = ManagedFields::from_object(new);
    if managers.is_empty() {
        managers = ManagedFields::from_object(live);
    }
    let sent = object::value_at(new, "metadata.managedFields");
    if sent
        .and_then(Value::as_array)
        .is_some_and(|l| l.is_empty() || l[0].as_object().is_some_and(|m| m.is_empty()))
    {
        // An explicit empty list resets `managedFields`.
        managers = ManagedFields::default();
    }
    let diff = compare_objects(live, new, ty);
    let changed =
        diff.modified.union(&diff.added).without_identity().restrict_to_subresource(writer.subresource);
    let removed = diff.removed.without_identity();
    if !changed.is_empty() || !removed.is_empty() {
        let conflicts = managers.update_conflicts(writer, &changed);
        managers.revoke_fields(&conflicts);
        managers.remove_fields(&removed);
        managers.record_update(writer, &changed, &removed);
    }
    managers.write_to(new);
}

/// Removes the fields that an applier cannot set: status for the main resource, everything else for `status`.
fn strip_reset_fields(config: &mut Value, subresource: &str) {
    if subresource == "status" {
        object::remove_value(config, "spec");
        object::remove_value(config, "metadata.labels");
        object::remove_value(config, "metadata.annotations");
    } else {
        object::remove_value(config, "status");
    }
}

fn conflict_error(conflicts: &[(ManagedFieldsEntry, FieldSet)]) -> StatusError {
    let mut causes = Vec::new();
    let mut blocks: Vec<(String, Vec<String>)> = Vec::new();
    for (entry, set) in conflicts {
        let paths = set.paths();
        let shown = format_manager(entry);
        for path in &paths {
            causes.push(StatusCause {
                reason: "FieldManagerConflict",
                message: format!("conflict with {shown}"),
                field: path.clone(),
            });
        }
        blocks.push((shown, paths));
    }
    blocks.sort();
    let message = if let [only] = &causes[..] {
        format!("Apply failed with 1 conflict: {}: {}", only.message, only.field)
    } else {
        let lines = blocks.iter().map(|(who, paths)| {
            let paths: Vec<String> = paths.iter().map(|p| format!("- {p}")).collect();
            format!("conflicts with {who}:\n{}", paths.join("\n"))
        });
        format!("Apply failed with {} conflicts: {}", causes.len(), lines.collect::<Vec<_>>().join("\n"))
    };
    StatusError::apply_conflict(message, &causes)
}

fn format_manager(entry: &ManagedFieldsEntry) -> String {
    let mut shown = format!("{:?}", entry.manager);
    if !entry.subresource.is_empty() {
        shown.push_str(&format!(" with subresource {:?}", entry.subresource));
    }
    if entry.operation == ManagedFieldsOperation::Update {
        shown.push_str(&format!(" using {}", entry.api_version));
    }
    shown
}

#[cfg(test)]
mod tests;
