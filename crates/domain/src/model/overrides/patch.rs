//! One patch on one object.

use serde_json::{Map, Value};

use super::{PatchOp, merge};
use crate::kubernetes::field_path::{FieldPath, ItemMatch, PathSegment, find_item, parse_index};
use crate::kubernetes::nearest::find_nearest;

/// Why a patch can't be applied (G507).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatchError {
    /// What is wrong, as the end of a sentence that names override and path.
    pub message: String,
    /// What to do.
    pub hint: String,
}

fn patch_error(why: impl Into<String>, hint: impl Into<String>) -> PatchError {
    PatchError { message: why.into(), hint: hint.into() }
}

/// Returns the object after the patch. `path` is the parsed path of the patch, empty for a merge.
pub(super) fn apply(object: &Value, op: &PatchOp, path: &FieldPath) -> Result<Value, PatchError> {
    let mut after = object.clone();
    match op {
        PatchOp::Merge { value } if value.is_object() => merge(&mut after, value),
        PatchOp::Merge { .. } => {
            return Err(patch_error(
                "only a map can be merged into an object",
                "Write the fields to merge as a map.",
            ));
        }
        PatchOp::Set { value, .. } => set_field(&mut after, &path.0, value, "")?,
        PatchOp::Remove { .. } => remove_field(&mut after, &path.0, "")?,
    }
    Ok(after)
}

/// `within` is the field that contains `value`, for messages about a list.
fn set_field(value: &mut Value, path: &[PathSegment], new: &Value, within: &str) -> Result<(), PatchError> {
    let Some((segment, rest)) = path.split_first() else {
        *value = new.clone();
        return Ok(());
    };
    match (segment, &mut *value) {
        (PathSegment::Key(key), Value::Object(map)) => {
            let child = map.entry(key.as_str()).or_insert(Value::Null);
            if child.is_null() && !rest.is_empty() {
                *child = container_for(&rest[0]);
            }
            set_field(child, rest, new, key)
        }
        (PathSegment::Key(key), Value::Array(items)) if key == "-" => {
            let mut item = rest.first().map_or(Value::Null, container_for);
            set_field(&mut item, rest, new, "")?;
            items.push(item);
            Ok(())
        }
        _ => set_field(child_mut(value, segment, within)?, rest, new, segment_name(segment)),
    }
}

/// The container to create for a missing field, by the path segment inside it.
fn container_for(segment: &PathSegment) -> Value {
    match segment {
        PathSegment::Key(key) if key == "-" => Value::Array(Vec::new()),
        PathSegment::Item(_) => Value::Array(Vec::new()),
        PathSegment::Key(_) => Value::Object(Map::new()),
    }
}

fn remove_field(value: &mut Value, path: &[PathSegment], within: &str) -> Result<(), PatchError> {
    match path {
        [] => Err(patch_error(
            "it names the whole object",
            "Name a field; to omit the object, remove it from the source.",
        )),
        [last] => {
            child_mut(value, last, within)?;
            match (last, value) {
                (PathSegment::Key(key), Value::Object(map)) => drop(map.shift_remove(key)),
                (segment, Value::Array(items)) => {
                    if let Some(at) = find_position(items, segment) {
                        items.remove(at);
                    }
                }
                _ => {}
            }
            Ok(())
        }
        [first, rest @ ..] => remove_field(child_mut(value, first, within)?, rest, segment_name(first)),
    }
}

fn segment_name(segment: &PathSegment) -> &str {
    match segment {
        PathSegment::Key(key) => key,
        PathSegment::Item(_) => "",
    }
}

fn find_position(items: &[Value], segment: &PathSegment) -> Option<usize> {
    match segment {
        PathSegment::Key(key) => parse_index(key).filter(|at| *at < items.len()),
        PathSegment::Item(conditions) => match find_item(items, conditions) {
            ItemMatch::One(at) => Some(at),
            _ => None,
        },
    }
}

/// The child, which must exist.
fn child_mut<'a>(
    value: &'a mut Value,
    segment: &PathSegment,
    within: &str,
) -> Result<&'a mut Value, PatchError> {
    let why = explain_missing(value, segment, within);
    let child = match (segment, value) {
        (PathSegment::Key(key), Value::Object(map)) => map.get_mut(key),
        (segment, Value::Array(items)) => find_position(items, segment).map(|at| &mut items[at]),
        _ => None,
    };
    child.ok_or_else(|| why.unwrap_or_else(|| patch_error("it matches no field", "Check the path.")))
}

/// Why `value` has no child at this segment; `None` if it has one.
fn explain_missing(value: &Value, segment: &PathSegment, within: &str) -> Option<PatchError> {
    match (segment, value) {
        (PathSegment::Key(key), Value::Object(map)) => (!map.contains_key(key)).then(|| {
            let hint = match find_nearest(key, map.keys().map(String::as_str)) {
                Some(known) => format!("Did you mean {known:?}?"),
                None => "Check the path; only an existing field can be removed.".to_owned(),
            };
            patch_error(format!("there is no field {key:?}"), hint)
        }),
        (PathSegment::Key(key), Value::Array(items)) => {
            find_position(items, segment).is_none().then(|| position_error(key, items, within))
        }
        (PathSegment::Item(conditions), Value::Array(items)) => match find_item(items, conditions) {
            ItemMatch::One(_) => None,
            ItemMatch::None => Some(patch_error(
                format!("no item has {}", format_conditions(conditions)),
                suggest_item(items, conditions, within),
            )),
            ItemMatch::Many => Some(patch_error(
                format!("more than one item has {}", format_conditions(conditions)),
                "Add a second condition, such as [port=53][protocol=UDP].",
            )),
        },
        (PathSegment::Item(_), _) => Some(patch_error(
            "there is no list to select an item from",
            "Select items only in a list, such as containers[name=web].",
        )),
        (PathSegment::Key(key), _) => Some(patch_error(
            format!("{key:?} is inside a value that is neither a map nor a list"),
            "Check the path against the source.",
        )),
    }
}

fn position_error(key: &str, items: &[Value], within: &str) -> PatchError {
    let hint = suggest_item(items, &[], within);
    if parse_index(key).is_none() {
        return patch_error(format!("{key:?} is not the position of an item"), hint);
    }
    let names: Vec<String> = items
        .iter()
        .take(5)
        .enumerate()
        .map(|(at, item)| item["name"].as_str().map_or(format!("{at}"), |name| format!("{at} ({name:?})")))
        .collect();
    match names.len() {
        0 => patch_error("the list is empty", "Append with /- instead."),
        1 => patch_error(format!("there is only item {}", names[0]), hint),
        _ => patch_error(format!("there are only the items {}", names.join(", ")), hint),
    }
}

/// A hint that names an existing item.
fn suggest_item(items: &[Value], conditions: &[(String, String)], within: &str) -> String {
    let key = conditions.first().map_or("name", |(key, _)| key);
    let known: Vec<_> = items
        .iter()
        .filter_map(|item| item.get(key).and_then(crate::kubernetes::field_path::scalar_text))
        .collect();
    let expected = conditions.first().map_or("", |(_, value)| value);
    let near = find_nearest(expected, known.iter().map(AsRef::as_ref));
    match near.or(known.first().map(AsRef::as_ref)) {
        Some(value) if near.is_some() => format!("Did you mean {within}[{key}={value}]?"),
        Some(value) => format!("Use {within}[{key}={value}] to select the item by its {key}."),
        None if items.is_empty() => "Append with /- instead.".to_owned(),
        None => format!("No item of the list has a {key}; use its position, such as /0."),
    }
}

fn format_conditions(conditions: &[(String, String)]) -> String {
    let parts: Vec<String> = conditions.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.join(" and ")
}
