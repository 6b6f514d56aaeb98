//! Reading and writing fields of an untyped object by dotted path.
//!
//! The simulator handles every kind alike, so objects stay JSON; these keep the reading side short and total.

use serde_json::{Map, Value};

/// The value at a dotted path.
pub(crate) fn at<'v>(value: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').try_fold(value, |v, key| v.get(key)).filter(|v| !v.is_null())
}

/// The text at a path, or "".
pub(crate) fn text<'v>(value: &'v Value, path: &str) -> &'v str {
    at(value, path).and_then(Value::as_str).unwrap_or("")
}

/// The integer at a path.
pub(crate) fn int(value: &Value, path: &str) -> Option<i64> {
    at(value, path).and_then(Value::as_i64)
}

/// Whether the path holds `true`.
pub(crate) fn flag(value: &Value, path: &str) -> bool {
    at(value, path).and_then(Value::as_bool).unwrap_or(false)
}

/// The list at a path, or an empty one.
pub(crate) fn list<'v>(value: &'v Value, path: &str) -> &'v [Value] {
    at(value, path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The map at a path.
pub(crate) fn map<'v>(value: &'v Value, path: &str) -> Option<&'v Map<String, Value>> {
    at(value, path).and_then(Value::as_object)
}

/// The place at a dotted path, made (as maps) if missing.
pub(crate) fn place<'v>(value: &'v mut Value, path: &str) -> &'v mut Value {
    path.split('.').fold(value, |v, key| {
        if !v.is_object() {
            *v = Value::Object(Map::new());
        }
        &mut v[key]
    })
}

/// Writes a value at a path.
pub(crate) fn put(value: &mut Value, path: &str, new: impl Into<Value>) {
    *place(value, path) = new.into();
}

/// Writes a value at a path unless one is there.
pub(crate) fn put_default(value: &mut Value, path: &str, new: impl Into<Value>) {
    let place = place(value, path);
    if place.is_null() {
        *place = new.into();
    }
}

/// Removes the value at a path.
pub(crate) fn remove(value: &mut Value, path: &str) -> Option<Value> {
    let (parent, key) = match path.rsplit_once('.') {
        Some((parent, key)) => (parent.split('.').try_fold(value, |v, k| v.get_mut(k))?, key),
        None => (value, path),
    };
    parent.as_object_mut()?.shift_remove(key)
}

/// `metadata.name`.
pub(crate) fn name(value: &Value) -> &str {
    text(value, "metadata.name")
}

/// `metadata.namespace`, "" for cluster-wide objects.
pub(crate) fn namespace(value: &Value) -> &str {
    text(value, "metadata.namespace")
}

/// `metadata.uid`.
pub(crate) fn uid(value: &Value) -> &str {
    text(value, "metadata.uid")
}

/// Whether deletion has begun.
pub(crate) fn deleting(value: &Value) -> bool {
    at(value, "metadata.deletionTimestamp").is_some()
}

/// `metadata.finalizers`.
pub(crate) fn finalizers(value: &Value) -> impl Iterator<Item = &str> {
    list(value, "metadata.finalizers").iter().filter_map(Value::as_str)
}

/// The owner that controls the object.
pub(crate) fn controller(value: &Value) -> Option<&Value> {
    list(value, "metadata.ownerReferences").iter().find(|o| flag(o, "controller"))
}

/// The status of the condition of that type, or "".
pub(crate) fn condition<'v>(value: &'v Value, kind: &str) -> Option<&'v Value> {
    list(value, "status.conditions").iter().find(|c| text(c, "type") == kind)
}

/// Drops nulls, at any depth, from maps.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, v| !v.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
