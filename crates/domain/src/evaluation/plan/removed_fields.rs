//! Fields that are no longer desired.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::field_position::FieldPosition;
use super::lists::{ListMerge, MergeKey, index_by_merge_keys, item_segment, value_segment};
use super::{FieldChange, secret};
use crate::kubernetes::field_path::FieldPath;

/// The fields that `previous` set, `desired` does not and `live` still has: server-side apply removes them, because no
/// other manager owns them. Fields of other managers beside them stay, so a map without such fields is returned whole.
pub fn find_removed_fields(previous: &Value, desired: &Value, live: &Value) -> Vec<FieldChange> {
    let kind = previous["kind"].as_str().unwrap_or_default();
    let is_secret = secret::is_secret_object(previous);
    let mut changes = Vec::new();
    let root = FieldPosition::root(kind, live);
    let fields = previous.as_object().into_iter().flatten();
    for (field, value) in fields.filter(|(field, _)| !matches!(field.as_str(), "apiVersion" | "kind")) {
        if is_secret && matches!(field.as_str(), "data" | "stringData") {
            continue;
        }
        let was = FieldState { desired: desired.get(field), live: live.get(field) };
        collect_removed(value, was, &root.field(field), &mut changes);
    }
    secret::hide_contained(&mut changes, &[previous, live]);
    if is_secret {
        secret::hide_annotations(&mut changes);
        changes.extend(secret::find_removed_keys(previous, desired, live));
    }
    changes
}

/// A field in the desired and in the live object.
#[derive(Clone, Copy)]
struct FieldState<'a> {
    desired: Option<&'a Value>,
    live: Option<&'a Value>,
}

impl<'a> FieldState<'a> {
    fn field(self, field: &str) -> Self {
        Self { desired: self.desired.and_then(|w| w.get(field)), live: self.live.and_then(|l| l.get(field)) }
    }
}

fn collect_removed(
    previous: &Value,
    was: FieldState<'_>,
    at: &FieldPosition<'_>,
    changes: &mut Vec<FieldChange>,
) {
    let Some(live) = was.live.filter(|live| !live.is_null()) else { return };
    let context = at.context;
    let is_name =
        context.depth == 2 && context.parent == "metadata" && matches!(context.field, "name" | "namespace");
    if context.is_server_owned() || is_name || previous.is_null() {
        return;
    }
    let desired = was.desired.filter(|desired| !desired.is_null());
    match (previous, desired, live) {
        (Value::Object(fields), desired, Value::Object(_))
            if desired.is_some_and(Value::is_object)
                || (desired.is_none() && !covers(previous, live, at)) =>
        {
            for (field, value) in fields {
                collect_removed(value, was.field(field), &at.field(field), changes);
            }
        }
        (Value::Array(items), desired, Value::Array(existing))
            if desired.is_none_or(Value::is_array)
                && at.list_merge(items, existing) != ListMerge::Replace =>
        {
            let desired = desired.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            match at.list_merge(items, existing) {
                ListMerge::ByKeys(keys) => {
                    collect_removed_items((items, desired, existing), &keys, at, changes)
                }
                _ => collect_removed_values((items, desired, existing), at, changes),
            }
        }
        (_, None, live) => changes.push(removed_field(&at.path, live)),
        // Another value is desired in its place: that is a change, not a removal.
        _ => {}
    }
}

fn collect_removed_values(
    (previous, desired, live): (&[Value], &[Value], &[Value]),
    at: &FieldPosition<'_>,
    changes: &mut Vec<FieldChange>,
) {
    let desired: HashSet<&Value> = desired.iter().collect();
    let live: HashSet<&Value> = live.iter().collect();
    for item in previous.iter().filter(|item| !desired.contains(item) && live.contains(item)) {
        let segment = value_segment(item);
        changes.extend(segment.map(|segment| removed_field(&at.path.with_segment(segment), item)));
    }
}

fn collect_removed_items(
    (previous, desired, live): (&[Value], &[Value], &[Value]),
    keys: &[MergeKey],
    at: &FieldPosition<'_>,
    changes: &mut Vec<FieldChange>,
) {
    let (Some(previous), Some(desired), Some(live)) = (
        index_by_merge_keys(previous, keys),
        index_by_merge_keys(desired, keys),
        index_by_merge_keys(live, keys),
    ) else {
        return;
    };
    let desired: HashMap<Vec<String>, &Value> = desired.into_iter().collect();
    let live: HashMap<Vec<String>, &Value> = live.into_iter().collect();
    for (key, item) in previous {
        let Some(existing) = live.get(&key).copied() else { continue };
        let at = at.item(item_segment(item, keys));
        match desired.get(&key).copied() {
            Some(desired) => {
                let was = FieldState { desired: Some(desired), live: Some(existing) };
                collect_removed(item, was, &at, changes);
            }
            None => changes.push(removed_field(&at.path, existing)),
        }
    }
}

/// Whether everything in `live` was set by `previous`.
fn covers(previous: &Value, live: &Value, at: &FieldPosition<'_>) -> bool {
    match (previous, live) {
        (Value::Object(previous), Value::Object(live)) => live.iter().all(|(field, live)| {
            previous.get(field).is_some_and(|previous| covers(previous, live, &at.field(field)))
        }),
        (Value::Array(previous), Value::Array(live)) => {
            let keys = match at.list_merge(previous, live) {
                ListMerge::Replace => return true,
                ListMerge::ByValue => {
                    let previous: HashSet<&Value> = previous.iter().collect();
                    return live.iter().all(|item| previous.contains(item));
                }
                ListMerge::ByKeys(keys) => keys,
            };
            match (index_by_merge_keys(previous, &keys), index_by_merge_keys(live, &keys)) {
                (Some(previous), Some(live)) => {
                    let previous: HashSet<&Vec<String>> = previous.iter().map(|(key, _)| key).collect();
                    live.iter().all(|(key, _)| previous.contains(key))
                }
                _ => true,
            }
        }
        _ => true,
    }
}

fn removed_field(path: &FieldPath, live: &Value) -> FieldChange {
    FieldChange { path: path.to_string(), desired: None, live: Some(live.clone()) }
}
