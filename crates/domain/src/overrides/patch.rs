//! One patch on one object.

use serde_json::{Map, Value};

use super::{PatchOp, merge};
use crate::nearest::nearest;
use crate::path::{Path, Segment, Selected, index, select};

/// Why a patch can't be done (G507).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Miss {
    /// What is wrong, as the end of a sentence that names override and path.
    pub why: String,
    /// What to do.
    pub hint: String,
}

fn miss(why: impl Into<String>, hint: impl Into<String>) -> Miss {
    Miss { why: why.into(), hint: hint.into() }
}

/// The object after the patch. `path` is the patch's own, already read; the empty one for a merge.
pub(super) fn apply(object: &Value, op: &PatchOp, path: &Path) -> Result<Value, Miss> {
    let mut after = object.clone();
    match op {
        PatchOp::Merge { value } if value.is_object() => merge(&mut after, value),
        PatchOp::Merge { .. } => {
            return Err(miss(
                "only a map can be merged into an object",
                "Write the fields to merge as a map.",
            ));
        }
        PatchOp::Set { value, .. } => set(&mut after, &path.0, value, "")?,
        PatchOp::Remove { .. } => remove(&mut after, &path.0, "")?,
    }
    Ok(after)
}

/// `within` is the field that holds `value`; messages call a list by it.
fn set(value: &mut Value, path: &[Segment], new: &Value, within: &str) -> Result<(), Miss> {
    let Some((segment, rest)) = path.split_first() else {
        *value = new.clone();
        return Ok(());
    };
    match (segment, &mut *value) {
        (Segment::Key(key), Value::Object(map)) => {
            let child = map.entry(key.as_str()).or_insert(Value::Null);
            if child.is_null() && !rest.is_empty() {
                *child = container_for(&rest[0]);
            }
            set(child, rest, new, key)
        }
        (Segment::Key(key), Value::Array(items)) if key == "-" => {
            let mut item = rest.first().map_or(Value::Null, container_for);
            set(&mut item, rest, new, "")?;
            items.push(item);
            Ok(())
        }
        _ => set(child_mut(value, segment, within)?, rest, new, called(segment)),
    }
}

/// What a field that is not there yet becomes, by what is to be put into it.
fn container_for(segment: &Segment) -> Value {
    match segment {
        Segment::Key(key) if key == "-" => Value::Array(Vec::new()),
        Segment::Item(_) => Value::Array(Vec::new()),
        Segment::Key(_) => Value::Object(Map::new()),
    }
}

fn remove(value: &mut Value, path: &[Segment], within: &str) -> Result<(), Miss> {
    match path {
        [] => Err(miss(
            "it names the whole object",
            "Name a field; to leave the object out, take it from the source.",
        )),
        [last] => {
            child_mut(value, last, within)?;
            match (last, value) {
                (Segment::Key(key), Value::Object(map)) => drop(map.shift_remove(key)),
                (segment, Value::Array(items)) => {
                    if let Some(at) = position(items, segment) {
                        items.remove(at);
                    }
                }
                _ => {}
            }
            Ok(())
        }
        [first, rest @ ..] => remove(child_mut(value, first, within)?, rest, called(first)),
    }
}

fn called(segment: &Segment) -> &str {
    match segment {
        Segment::Key(key) => key,
        Segment::Item(_) => "",
    }
}

fn position(items: &[Value], segment: &Segment) -> Option<usize> {
    match segment {
        Segment::Key(key) => index(key).filter(|at| *at < items.len()),
        Segment::Item(conditions) => match select(items, conditions) {
            Selected::One(at) => Some(at),
            _ => None,
        },
    }
}

/// The child that must be there.
fn child_mut<'a>(value: &'a mut Value, segment: &Segment, within: &str) -> Result<&'a mut Value, Miss> {
    let why = why_missing(value, segment, within);
    let child = match (segment, value) {
        (Segment::Key(key), Value::Object(map)) => map.get_mut(key),
        (segment, Value::Array(items)) => position(items, segment).map(|at| &mut items[at]),
        _ => None,
    };
    child.ok_or_else(|| why.unwrap_or_else(|| miss("it leads nowhere", "Check the path.")))
}

/// Why a segment does not lead on from `value`; `None` if it does.
fn why_missing(value: &Value, segment: &Segment, within: &str) -> Option<Miss> {
    match (segment, value) {
        (Segment::Key(key), Value::Object(map)) => (!map.contains_key(key)).then(|| {
            let hint = match nearest(key, map.keys().map(String::as_str)) {
                Some(known) => format!("Did you mean {known:?}?"),
                None => "Check the path; only a field that is there can be removed.".to_owned(),
            };
            miss(format!("there is no field {key:?}"), hint)
        }),
        (Segment::Key(key), Value::Array(items)) => {
            position(items, segment).is_none().then(|| no_position(key, items, within))
        }
        (Segment::Item(conditions), Value::Array(items)) => match select(items, conditions) {
            Selected::One(_) => None,
            Selected::None => {
                Some(miss(format!("no item has {}", told(conditions)), propose(items, conditions, within)))
            }
            Selected::Many => Some(miss(
                format!("more than one item has {}", told(conditions)),
                "Add a second condition, such as [port=53][protocol=UDP].",
            )),
        },
        (Segment::Item(_), _) => Some(miss(
            "there is no list to choose an item from",
            "Name items only behind a list, such as containers[name=web].",
        )),
        (Segment::Key(key), _) => Some(miss(
            format!("{key:?} is looked for in a value that is neither a map nor a list"),
            "Check the path against the source.",
        )),
    }
}

fn no_position(key: &str, items: &[Value], within: &str) -> Miss {
    let hint = propose(items, &[], within);
    if index(key).is_none() {
        return miss(format!("{key:?} is not the position of an item"), hint);
    }
    let names: Vec<String> = items
        .iter()
        .take(5)
        .enumerate()
        .map(|(at, item)| item["name"].as_str().map_or(format!("{at}"), |name| format!("{at} ({name:?})")))
        .collect();
    match names.len() {
        0 => miss("the list is empty", "Append with /- instead."),
        1 => miss(format!("there is only item {}", names[0]), hint),
        _ => miss(format!("there are only the items {}", names.join(", ")), hint),
    }
}

/// How to name one of the items there are.
fn propose(items: &[Value], conditions: &[(String, String)], within: &str) -> String {
    let key = conditions.first().map_or("name", |(key, _)| key);
    let known: Vec<_> = items.iter().filter_map(|item| item.get(key).and_then(crate::path::scalar)).collect();
    let asked = conditions.first().map_or("", |(_, value)| value);
    let near = nearest(asked, known.iter().map(AsRef::as_ref));
    match near.or(known.first().map(AsRef::as_ref)) {
        Some(value) if near.is_some() => format!("Did you mean {within}[{key}={value}]?"),
        Some(value) => format!("Use {within}[{key}={value}] to choose the item by its {key}."),
        None if items.is_empty() => "Append with /- instead.".to_owned(),
        None => format!("No item of the list has a {key}; use its position, such as /0."),
    }
}

fn told(conditions: &[(String, String)]) -> String {
    let parts: Vec<String> = conditions.iter().map(|(key, value)| format!("{key}={value}")).collect();
    parts.join(" and ")
}
