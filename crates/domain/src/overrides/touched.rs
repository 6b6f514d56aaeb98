//! Which fields a patch touched, in paths that stay right while other patches move list items about.
//!
//! Provenance is told per leaf. A leaf is a scalar, an empty map, or a list whose items have no unique names: such a
//! list is one leaf, because nothing says which of its items is which after somebody puts one in front.

use std::collections::BTreeSet;

use serde_json::Value;

use super::PatchOp;
use crate::path::{Path, Segment};

/// The paths that an operation touched, given the object before and after it.
pub(super) fn touched(op: &PatchOp, path: &Path, before: &Value, after: &Value) -> BTreeSet<Path> {
    let mut paths = BTreeSet::new();
    match op {
        PatchOp::Merge { value } => merged(Some(before), value, &Path::default(), &mut paths),
        PatchOp::Set { .. } => {
            paths.insert(steady(path, before, after, after));
        }
        PatchOp::Remove { .. } => {
            paths.insert(steady(path, before, after, before));
        }
    }
    paths
}

fn merged(before: Option<&Value>, over: &Value, path: &Path, paths: &mut BTreeSet<Path>) {
    match over {
        // A map over something else replaces it as a whole.
        Value::Object(_) if before.is_some_and(|before| !before.is_object()) => {
            paths.insert(path.clone());
        }
        Value::Object(map) if !map.is_empty() => {
            for (key, value) in map {
                merged(before.and_then(|before| before.get(key)), value, &path.key(key), paths);
            }
        }
        // An empty map over a map changes nothing.
        Value::Object(_) if before.is_some_and(Value::is_object) => {}
        _ => {
            paths.insert(path.clone());
        }
    }
}

/// The path with every item named, or cut at the first list whose items can't be told apart by name both before and
/// after. `walked` is the one of the two in which the path leads somewhere.
fn steady(path: &Path, before: &Value, after: &Value, walked: &Value) -> Path {
    let mut steady = Path::default();
    let mut value = Some(walked);
    for segment in &path.0 {
        let next = match (segment, value) {
            // What was appended stands last.
            (Segment::Key(key), Some(Value::Array(items))) if key == "-" => items.last(),
            (_, value) => value.and_then(|value| segment.get(value)),
        };
        if let Some(Value::Array(_)) = value {
            let keeps_names = keeps_names(steady.get(before), steady.get(after));
            match next.and_then(|item| item["name"].as_str()) {
                Some(name) if keeps_names => steady = steady.with(Segment::named(name)),
                _ => return steady,
            }
        } else {
            steady = steady.with(segment.clone());
        }
        value = next;
    }
    steady
}

fn keeps_names(before: Option<&Value>, after: Option<&Value>) -> bool {
    let named = |value: Option<&Value>| match value {
        Some(Value::Array(items)) => {
            names(items).map(|names| names.into_iter().map(str::to_owned).collect::<BTreeSet<_>>())
        }
        Some(_) => None,
        None => Some(BTreeSet::new()),
    };
    match (named(before), named(after)) {
        (Some(before), Some(after)) => before.is_subset(&after) || after.is_subset(&before),
        _ => false,
    }
}

/// The names of a list's items, if every item has one and no two have the same.
fn names(items: &[Value]) -> Option<Vec<&str>> {
    let names: Vec<&str> = items.iter().map(|item| item["name"].as_str()).collect::<Option<_>>()?;
    let unique: BTreeSet<&&str> = names.iter().collect();
    (unique.len() == names.len()).then_some(names)
}

/// The leaves at and below a path; none if the path leads nowhere.
pub(super) fn leaves(root: &Value, path: &Path) -> Vec<Path> {
    let mut found = Vec::new();
    if let Some(value) = path.get(root) {
        collect(value, path.clone(), &mut found);
    }
    found
}

fn collect(value: &Value, path: Path, found: &mut Vec<Path>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, child) in map {
                collect(child, path.key(key), found);
            }
        }
        Value::Array(items) if !items.is_empty() => match names(items) {
            Some(names) => {
                for (name, item) in names.into_iter().zip(items) {
                    collect(item, path.with(Segment::named(name)), found);
                }
            }
            None => found.push(path),
        },
        _ => found.push(path),
    }
}
