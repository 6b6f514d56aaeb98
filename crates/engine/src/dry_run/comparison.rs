//! Compares the response of a dry run with the live object.

use domain::plan::{FieldChange, PlannedAction, diff, find_removed_fields};
use serde_json::Value;

use crate::desired_object::{HASH_ANNOTATION, RELEASE_LABEL, WORKLOAD_ANNOTATION};

/// Whether the server applied the content to the object as it was read: a dry run answers with the version of the stored object.
pub(super) fn is_same_version(after: &Value, live: &Value) -> bool {
    let version = |object: &Value| object.pointer("/metadata/resourceVersion").cloned();
    version(after) == version(live)
}

/// The changes from the live object to the response of the dry run.
pub(super) fn plan_field_changes(mut after: Value, mut live: Value) -> PlannedAction {
    for object in [&mut after, &mut live] {
        remove_ownership_fields(object);
    }
    let mut changes = diff(&after, &live);
    let removed = find_removed_fields(&live, &after, &live);
    let is_known = |change: &FieldChange| changes.iter().any(|known| known.path == change.path);
    let removed: Vec<FieldChange> = removed.into_iter().filter(|change| !is_known(change)).collect();
    changes.extend(removed);
    PlannedAction::from_field_changes(changes)
}

/// Removes fields that differ with every write, and Flotilla's label and annotations, from the comparison.
pub(super) fn remove_ownership_fields(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    for (map, keys) in
        [("labels", &[RELEASE_LABEL][..]), ("annotations", &[WORKLOAD_ANNOTATION, HASH_ANNOTATION][..])]
    {
        if let Some(map) = metadata.get_mut(map).and_then(Value::as_object_mut) {
            keys.iter().for_each(|key| {
                map.shift_remove(*key);
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_write_between_the_read_and_the_dry_run_is_recognised_by_the_version() {
        let of_version = |version: &str| json!({"metadata": {"name": "web", "resourceVersion": version}});
        assert!(is_same_version(&of_version("7"), &of_version("7")));
        assert!(!is_same_version(&of_version("8"), &of_version("7")));
    }
}
