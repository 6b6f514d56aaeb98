//! The same changes to JSON: where a path leads, and what the text must say afterwards.

use serde_json::{Map, Value};

use super::Refused;
use crate::path::{Path, Segment, Selected, index, select};

/// One step with every condition resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
    /// Behind the last item.
    End,
}

/// The steps of a path. Behind the first thing that is not there, only keys and `-` can follow.
pub(super) fn steps(root: &Value, path: &Path) -> Result<Vec<Step>, Refused> {
    let mut at = Some(root);
    let mut steps = Vec::with_capacity(path.0.len());
    for segment in &path.0 {
        let step = match (segment, at) {
            (Segment::Item(conditions), Some(Value::Array(items))) => match select(items, conditions) {
                Selected::One(n) => Step::Index(n),
                _ => return Err(Refused::NotThere),
            },
            (Segment::Item(_), _) => return Err(Refused::NotThere),
            (Segment::Key(key), Some(Value::Array(items))) => match index(key) {
                Some(n) if n < items.len() => Step::Index(n),
                _ if key == "-" => Step::End,
                _ => return Err(Refused::NotThere),
            },
            (Segment::Key(key), Some(Value::Null) | None) if key == "-" => Step::End,
            (Segment::Key(key), _) => Step::Key(key.clone()),
        };
        at = at.and_then(|value| child(value, &step));
        steps.push(step);
    }
    Ok(steps)
}

/// The value one step further.
pub(super) fn child<'a>(value: &'a Value, step: &Step) -> Option<&'a Value> {
    match (value, step) {
        (Value::Object(map), Step::Key(key)) => map.get(key),
        (Value::Array(items), Step::Index(n)) => items.get(*n),
        _ => None,
    }
}

pub(super) fn get<'a>(root: &'a Value, steps: &[Step]) -> Option<&'a Value> {
    steps.iter().try_fold(root, child)
}

/// A value inside of the maps and lists that the steps ask for.
pub(super) fn wrapped(steps: &[Step], value: &Value) -> Value {
    steps.iter().rev().fold(value.clone(), |inner, step| match step {
        Step::Key(key) => Value::Object(Map::from_iter([(key.clone(), inner)])),
        Step::Index(_) | Step::End => Value::Array(vec![inner]),
    })
}

pub(super) fn set(root: &mut Value, steps: &[Step], value: &Value) -> Result<(), Refused> {
    let Some((step, rest)) = steps.split_first() else {
        *root = value.clone();
        return Ok(());
    };
    match (&mut *root, step) {
        (Value::Object(map), Step::Key(key)) => match map.get_mut(key) {
            Some(inner) => set(inner, rest, value)?,
            None => drop(map.insert(key.clone(), wrapped(rest, value))),
        },
        (Value::Array(items), Step::Index(n)) => {
            set(items.get_mut(*n).ok_or(Refused::NotThere)?, rest, value)?
        }
        (Value::Array(items), Step::End) => items.push(wrapped(rest, value)),
        (Value::Null, Step::Key(_) | Step::End) => *root = wrapped(steps, value),
        _ => return Err(Refused::NotThere),
    }
    Ok(())
}

pub(super) fn remove(root: &mut Value, steps: &[Step]) -> Result<(), Refused> {
    let (last, before) = steps.split_last().ok_or(Refused::NotThere)?;
    let holder = before.iter().try_fold(root, |value, step| match (value, step) {
        (Value::Object(map), Step::Key(key)) => map.get_mut(key),
        (Value::Array(items), Step::Index(n)) => items.get_mut(*n),
        _ => None,
    });
    match (holder, last) {
        (Some(Value::Object(map)), Step::Key(key)) => {
            map.shift_remove(key);
        }
        (Some(Value::Array(items)), Step::Index(n)) if *n < items.len() => {
            items.remove(*n);
        }
        _ => return Err(Refused::NotThere),
    }
    Ok(())
}
