//! Reading and writing fields of an untyped object by dotted path.
//!
//! The simulator treats all kinds uniformly, so objects stay JSON. The readers never fail: a missing value or one of
//! another type yields an empty default or `None`.

use serde_json::{Map, Value};

/// The value at a dotted path.
pub(crate) fn value_at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |v, key| v.get(key)).filter(|v| !v.is_null())
}

/// The text at a path, or "".
pub(crate) fn str_at<'v>(value: &'v Value, path: &str) -> &'v str {
    value_at(value, path).and_then(Value::as_str).unwrap_or("")
}

/// The integer at a path.
pub(crate) fn i64_at(value: &Value, path: &str) -> Option<i64> {
    value_at(value, path).and_then(Value::as_i64)
}

/// Whether the value at a path is `true`.
pub(crate) fn bool_at(value: &Value, path: &str) -> bool {
    value_at(value, path).and_then(Value::as_bool).unwrap_or(false)
}

/// The list at a path, or an empty one.
pub(crate) fn array_at<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    value_at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The map at a path.
pub(crate) fn map_at<'v>(value: &'v Value, path: &str) -> Option<&'v Map<String, Value>> {
    value_at(value, path).and_then(Value::as_object)
}

/// A mutable reference to the value at a dotted path; missing maps are created.
pub(crate) fn value_at_mut<'v>(value: &'v mut Value, path: &str) -> &'v mut Value {
    path.split('.').fold(value, |v, key| {
        if !v.is_object() {
            *v = Value::Object(Map::new());
        }
        &mut v[key]
    })
}

/// Writes a value at a path.
pub(crate) fn set_value(value: &mut Value, path: &str, new: impl Into<Value>) {
    *value_at_mut(value, path) = new.into();
}

/// Writes a value at a path unless it has one.
pub(crate) fn set_default(value: &mut Value, path: &str, new: impl Into<Value>) {
    let place = value_at_mut(value, path);
    if place.is_null() {
        *place = new.into();
    }
}

/// Removes the value at a path.
pub(crate) fn remove_value(value: &mut Value, path: &str) -> Option<Value> {
    let (parent, key) = match path.rsplit_once('.') {
        Some((parent, key)) => (parent.split('.').try_fold(value, |v, k| v.get_mut(k))?, key),
        None => (value, path),
    };
    parent.as_object_mut()?.shift_remove(key)
}

/// `metadata.name`.
pub(crate) fn name(value: &Value) -> &str {
    str_at(value, "metadata.name")
}

/// `metadata.namespace`, "" for cluster-scoped objects.
pub(crate) fn namespace(value: &Value) -> &str {
    str_at(value, "metadata.namespace")
}

/// `metadata.uid`.
pub(crate) fn uid(value: &Value) -> &str {
    str_at(value, "metadata.uid")
}

/// Whether `metadata.deletionTimestamp` is set.
pub(crate) fn is_deleting(value: &Value) -> bool {
    value_at(value, "metadata.deletionTimestamp").is_some()
}

/// `metadata.finalizers`.
pub(crate) fn finalizers(value: &Value) -> impl Iterator<Item = &str> {
    array_at(value, "metadata.finalizers").iter().filter_map(Value::as_str)
}

/// The owner reference of the controlling owner.
pub(crate) fn controller_reference(value: &Value) -> Option<&Value> {
    array_at(value, "metadata.ownerReferences").iter().find(|o| bool_at(o, "controller"))
}

/// The condition of that type.
pub(crate) fn condition<'v>(value: &'v Value, kind: &str) -> Option<&'v Value> {
    array_at(value, "status.conditions").iter().find(|c| str_at(c, "type") == kind)
}

/// Removes nulls, at any depth, from maps.
pub(crate) fn remove_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(remove_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_nulls),
        _ => {}
    }
}
