//! The same changes on JSON values: resolves paths and computes the value that the changed text must parse to.

use serde_json::{Map, Value};

use super::EditError;
use crate::kubernetes::field_path::{FieldPath, ItemMatch, PathSegment, find_item, parse_index};

/// One segment of a path with its conditions resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ResolvedStep {
    Key(String),
    Index(usize),
    /// Behind the last item.
    End,
}

/// Resolves a path. After the first missing value, only keys and `-` can follow.
pub(super) fn resolve_path(root: &Value, path: &FieldPath) -> Result<Vec<ResolvedStep>, EditError> {
    let mut at = Some(root);
    let mut steps = Vec::with_capacity(path.0.len());
    for segment in &path.0 {
        let step = match (segment, at) {
            (PathSegment::Item(conditions), Some(Value::Array(items))) => {
                match find_item(items, conditions) {
                    ItemMatch::One(n) => ResolvedStep::Index(n),
                    _ => return Err(EditError::NotFound),
                }
            }
            (PathSegment::Item(_), _) => return Err(EditError::NotFound),
            (PathSegment::Key(key), Some(Value::Array(items))) => match parse_index(key) {
                Some(n) if n < items.len() => ResolvedStep::Index(n),
                _ if key == "-" => ResolvedStep::End,
                _ => return Err(EditError::NotFound),
            },
            (PathSegment::Key(key), Some(Value::Null) | None) if key == "-" => ResolvedStep::End,
            (PathSegment::Key(key), _) => ResolvedStep::Key(key.clone()),
        };
        at = at.and_then(|value| child(value, &step));
        steps.push(step);
    }
    Ok(steps)
}

/// The child that a step leads to.
pub(super) fn child<'a>(value: &'a Value, step: &ResolvedStep) -> Option<&'a Value> {
    match (value, step) {
        (Value::Object(map), ResolvedStep::Key(key)) => map.get(key),
        (Value::Array(items), ResolvedStep::Index(n)) => items.get(*n),
        _ => None,
    }
}

pub(super) fn get<'a>(root: &'a Value, steps: &[ResolvedStep]) -> Option<&'a Value> {
    steps.iter().try_fold(root, child)
}

/// A value nested in the maps and lists that the steps require.
pub(super) fn nest_value(steps: &[ResolvedStep], value: &Value) -> Value {
    steps.iter().rev().fold(value.clone(), |inner, step| match step {
        ResolvedStep::Key(key) => Value::Object(Map::from_iter([(key.clone(), inner)])),
        ResolvedStep::Index(_) | ResolvedStep::End => Value::Array(vec![inner]),
    })
}

pub(super) fn set(root: &mut Value, steps: &[ResolvedStep], value: &Value) -> Result<(), EditError> {
    let Some((step, rest)) = steps.split_first() else {
        *root = value.clone();
        return Ok(());
    };
    match (&mut *root, step) {
        (Value::Object(map), ResolvedStep::Key(key)) => match map.get_mut(key) {
            Some(inner) => set(inner, rest, value)?,
            None => drop(map.insert(key.clone(), nest_value(rest, value))),
        },
        (Value::Array(items), ResolvedStep::Index(n)) => {
            set(items.get_mut(*n).ok_or(EditError::NotFound)?, rest, value)?
        }
        (Value::Array(items), ResolvedStep::End) => items.push(nest_value(rest, value)),
        (Value::Null, ResolvedStep::Key(_) | ResolvedStep::End) => *root = nest_value(steps, value),
        _ => return Err(EditError::NotFound),
    }
    Ok(())
}

pub(super) fn remove(root: &mut Value, steps: &[ResolvedStep]) -> Result<(), EditError> {
    let (last, before) = steps.split_last().ok_or(EditError::NotFound)?;
    let holder = before.iter().try_fold(root, |value, step| match (value, step) {
        (Value::Object(map), ResolvedStep::Key(key)) => map.get_mut(key),
        (Value::Array(items), ResolvedStep::Index(n)) => items.get_mut(*n),
        _ => None,
    });
    match (holder, last) {
        (Some(Value::Object(map)), ResolvedStep::Key(key)) => {
            map.shift_remove(key);
        }
        (Some(Value::Array(items)), ResolvedStep::Index(n)) if *n < items.len() => {
            items.remove(*n);
        }
        _ => return Err(EditError::NotFound),
    }
    Ok(())
}
