//! Comparison of a desired object with the live one.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::field_position::FieldPosition;
use super::fields::FieldContext;
use super::lists::{ListMerge, item_segment, match_items, value_segment};
use super::{FieldChange, secret};
use crate::kubernetes::field_path::{FieldPath, PathSegment};
use crate::kubernetes::object::ObjectRef;
use crate::kubernetes::quantity::Quantity;

/// The fields of `live` that applying `desired` by server-side apply would change, in the order of `desired`.
///
/// Only fields of `desired` count: defaults and the fields of other managers in `live` are no difference, nor is a null
/// or empty field that `live` does not have. Quantities are compared by amount. Lists are merged as the managed fields of
/// `live` tell: by the keys or the values of their items in any order, where an item of another manager stays, or as a whole.
/// In a value that another manager replaced as a whole, a field that is not desired is a difference too. An integer and its
/// text are different (80, "80"). Changes of a Secret's values are returned without the values.
pub fn diff(desired: &Value, live: &Value) -> Vec<FieldChange> {
    let kind = desired["kind"].as_str().unwrap_or_default();
    let is_secret = secret::is_secret_object(desired);
    let mut walk = DiffWalker { changes: Vec::new() };
    let root = FieldPosition::root(kind, live);
    match (desired, live) {
        (Value::Object(fields), Value::Object(existing)) => {
            let hidden = |field: &str| is_secret && matches!(field, "data" | "stringData");
            for (field, value) in fields.iter().filter(|(field, _)| !hidden(field) && *field != "apiVersion")
            {
                walk.compare(value, existing.get(field), &root.field(field));
            }
            walk.compare_api_versions(desired, live);
        }
        _ if is_secret => walk.compare(&secret::hide_values(desired), Some(live), &root),
        _ => walk.compare(desired, Some(live), &root),
    }
    if is_secret {
        secret::hide_annotations(&mut walk.changes);
    }
    secret::hide_contained(&mut walk.changes, &[desired, live]);
    if is_secret && live.is_object() {
        walk.changes.extend(secret::find_changed_keys(desired, live));
    }
    walk.changes
}

struct DiffWalker {
    changes: Vec<FieldChange>,
}

impl DiffWalker {
    fn compare(&mut self, desired: &Value, live: Option<&Value>, at: &FieldPosition<'_>) {
        if at.context.is_server_owned() || desired.is_null() {
            return;
        }
        let live = live.filter(|live| !live.is_null());
        match (desired, live) {
            (desired, None) => {
                if !is_no_op(desired, at.context) {
                    self.push_change(&at.path, Some(desired), None);
                }
            }
            (Value::Object(desired), Some(Value::Object(live))) => self.compare_maps(desired, live, at),
            (Value::Array(items), Some(Value::Array(existing))) => self.compare_lists((items, existing), at),
            (desired, Some(live)) if is_same_scalar(desired, live, at.context) => {}
            (desired, Some(live)) => self.push_change(&at.path, Some(desired), Some(live)),
        }
    }

    /// Versions may differ, because the server converts; groups may not.
    fn compare_api_versions(&mut self, desired: &Value, live: &Value) {
        let group = |object: &Value| {
            object["apiVersion"].as_str().map(|version| ObjectRef::split_api_version(version).0.to_owned())
        };
        if let (Some(a), Some(b)) = (group(desired), group(live))
            && a != b
        {
            self.push_change(
                &FieldPath::default().with_key("apiVersion"),
                desired.get("apiVersion"),
                live.get("apiVersion"),
            );
        }
    }

    fn compare_maps(
        &mut self,
        desired: &Map<String, Value>,
        live: &Map<String, Value>,
        at: &FieldPosition<'_>,
    ) {
        for (field, value) in desired {
            let existing = live.get(field);
            if at.context.is_string_map() {
                self.compare_strings(value, existing, &at.path.with_key(field), at.context);
            } else {
                self.compare(value, existing, &at.field(field));
            }
        }
        if at.owners.is_replaced() || (at.context.is_atomic_map() && !desired.is_empty()) {
            for (field, value) in live.iter().filter(|(field, _)| !desired.contains_key(*field)) {
                self.push_change(&at.path.with_key(field), None, Some(value));
            }
        }
    }

    /// Compares an entry of a string map, where an empty string is a value.
    fn compare_strings(
        &mut self,
        desired: &Value,
        live: Option<&Value>,
        path: &FieldPath,
        context: FieldContext<'_>,
    ) {
        let same = match live {
            None => desired.is_null(),
            Some(live) => {
                desired == live
                    || desired.is_null()
                    || (context.field == "binaryData" && is_same_bytes(desired, live))
            }
        };
        if !same {
            self.push_change(path, Some(desired), live);
        }
    }

    fn compare_lists(&mut self, (desired, live): (&[Value], &[Value]), at: &FieldPosition<'_>) {
        match at.list_merge(desired, live) {
            ListMerge::ByValue => {
                let existing: HashSet<&Value> = live.iter().collect();
                let mut is_listed = false;
                for item in desired.iter().filter(|item| !existing.contains(item)) {
                    match value_segment(item) {
                        Some(segment) => self.push_change(&at.path.with_segment(segment), Some(item), None),
                        // The whole list, once for all items that no path names.
                        None if is_listed => {}
                        None => {
                            self.push_list_change((desired, live), &at.path);
                            is_listed = true;
                        }
                    }
                }
                return;
            }
            ListMerge::ByKeys(keys) => {
                if let Some(items) = match_items(desired, live, &keys) {
                    for (item, live) in items {
                        self.compare(item, live, &at.item(item_segment(item, &keys)));
                    }
                    return;
                }
            }
            ListMerge::Replace => {}
        }
        let maps = |items: &[Value]| items.iter().all(Value::is_object);
        if desired.len() == live.len() && maps(desired) && maps(live) {
            // Applied as a whole, but compared by field; server defaults are no difference.
            for (index, (item, existing)) in desired.iter().zip(live).enumerate() {
                self.compare(item, Some(existing), &at.item(PathSegment::Key(index.to_string())));
            }
        } else if desired.len() != live.len()
            || !desired.iter().zip(live).all(|(item, existing)| is_same_item(item, existing, at))
        {
            self.push_list_change((desired, live), &at.path);
        }
    }

    fn push_list_change(&mut self, (desired, live): (&[Value], &[Value]), path: &FieldPath) {
        self.push_change(path, Some(&Value::Array(desired.to_vec())), Some(&Value::Array(live.to_vec())));
    }

    fn push_change(&mut self, path: &FieldPath, desired: Option<&Value>, live: Option<&Value>) {
        self.changes.push(FieldChange {
            path: path.to_string(),
            desired: desired.cloned(),
            live: live.cloned(),
        });
    }
}

/// Whether applying this to an absent field leaves the field absent.
fn is_no_op(desired: &Value, context: FieldContext<'_>) -> bool {
    match desired {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(_) if context.is_significant_when_empty() => false,
        Value::Object(map) if context.is_string_map() => map.values().all(Value::is_null),
        Value::Object(map) => map.iter().all(|(field, value)| is_no_op(value, context.child(field))),
        scalar => context.is_dropped_when_zero(scalar) || context.is_server_assigned(scalar),
    }
}

fn is_same_scalar(desired: &Value, live: &Value, context: FieldContext<'_>) -> bool {
    // Only fractions are compared as floats: large integers would lose their last digits.
    let same_number = |a: &serde_json::Number, b: &serde_json::Number| {
        (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
    };
    let equal = match (desired, live) {
        (Value::Number(a), Value::Number(b)) => a == b || same_number(a, b),
        _ => desired == live,
    };
    equal || context.is_server_assigned(desired) || (context.is_quantity() && is_same_amount(desired, live))
}

/// The API server normalizes quantities: compared as text they would always differ.
fn is_same_amount(desired: &Value, live: &Value) -> bool {
    Quantity::from_json(desired).is_some_and(|amount| Quantity::from_json(live) == Some(amount))
}

fn is_same_item(desired: &Value, live: &Value, list: &FieldPosition<'_>) -> bool {
    let mut inner = DiffWalker { changes: Vec::new() };
    inner.compare(desired, Some(live), list);
    inner.changes.is_empty()
}

fn is_same_bytes(desired: &Value, live: &Value) -> bool {
    let bytes = |value: &Value| value.as_str().and_then(secret::decode_base64);
    bytes(desired).is_some_and(|desired| Some(desired) == bytes(live))
}
