//! Which fields a patch touched, as paths that stay valid while other patches move list items.
//!
//! Provenance is recorded per leaf. A leaf is a scalar, an empty map, or a list whose items have no unique names: such a
//! list is one leaf, because its items can't be identified after an insertion.

use std::collections::BTreeSet;

use serde_json::Value;

use super::PatchOp;
use crate::kubernetes::field_path::{FieldPath, PathSegment};

/// The paths that an operation touched, given the object before and after it.
pub(super) fn find_touched_paths(
    op: &PatchOp,
    path: &FieldPath,
    before: &Value,
    after: &Value,
) -> BTreeSet<FieldPath> {
    let mut paths = BTreeSet::new();
    match op {
        PatchOp::Merge { value } => {
            collect_merged_paths(Some(before), value, &FieldPath::default(), &mut paths)
        }
        PatchOp::Set { .. } => {
            paths.insert(stable_path(path, before, after, after));
        }
        PatchOp::Remove { .. } => {
            paths.insert(stable_path(path, before, after, before));
        }
    }
    paths
}

fn collect_merged_paths(
    before: Option<&Value>,
    over: &Value,
    path: &FieldPath,
    paths: &mut BTreeSet<FieldPath>,
) {
    match over {
        // A map replaces a value of another type as a whole.
        Value::Object(_) if before.is_some_and(|before| !before.is_object()) => {
            paths.insert(path.clone());
        }
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                collect_merged_paths(
                    before.and_then(|before| before.get(key)),
                    value,
                    &path.with_key(key),
                    paths,
                );
            }
        }
        // An empty map over a map changes nothing.
        Value::Object(_) if before.is_some_and(Value::is_object) => {}
        _ => {
            paths.insert(path.clone());
        }
    }
}

/// The path with every item named, or cut at the first list whose items can't be identified by name both before and
/// after. `walked` is the one of the two objects in which the path exists.
fn stable_path(path: &FieldPath, before: &Value, after: &Value, walked: &Value) -> FieldPath {
    let mut stable = FieldPath::default();
    let mut value = Some(walked);
    for segment in &path.0 {
        let next = match (segment, value) {
            // An appended item is the last one.
            (PathSegment::Key(key), Some(Value::Array(items))) if key == "-" => items.last(),
            (_, value) => value.and_then(|value| segment.get(value)),
        };
        if let Some(Value::Array(_)) = value {
            let keeps_names = has_stable_names(stable.get(before), stable.get(after));
            match next.and_then(|item| item["name"].as_str()) {
                Some(name) if keeps_names => stable = stable.with_segment(PathSegment::item_named(name)),
                _ => return stable,
            }
        } else {
            stable = stable.with_segment(segment.clone());
        }
        value = next;
    }
    stable
}

fn has_stable_names(before: Option<&Value>, after: Option<&Value>) -> bool {
    let named = |value: Option<&Value>| match value {
        Some(Value::Array(items)) => {
            unique_names(items).map(|names| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>())
        }
        Some(_) => None,
        None => Some(BTreeSet::new()),
    };
    match (named(before), named(after)) {
        (Some(before), Some(after)) => before.is_subset(&after) || after.is_subset(&before),
        _ => false,
    }
}

/// The names of a list's items, if every item has one and they are unique.
fn unique_names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items.iter().map(|item| item["name"].as_str()).collect::<Option<_>>()?;
    let unique: BTreeSet<&&str> = names.iter().collect();
    (unique.len() == names.len()).then_some(names)
}

/// The leaves at and below a path; none if the path does not exist.
pub(super) fn find_leaves(root: &Value, path: &FieldPath) -> Vec<FieldPath> {
    let mut found = Vec::new();
    if let Some(value) = path.get(root) {
        collect_leaves(value, path.clone(), &mut found);
    }
    found
}

fn collect_leaves(value: &Value, path: FieldPath, found: &mut Vec<FieldPath>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, child) in map {
                collect_leaves(child, path.with_key(key), found);
            }
        }
        Value::Array(items) if !items.is_empty() => match unique_names(items) {
            Some(names) => {
                for (name, item) in names.into_iter().zip(items) {
                    collect_leaves(item, path.with_segment(PathSegment::item_named(name)), found);
                }
            }
            None => found.push(path),
        },
        _ => found.push(path),
    }
}
