//! Strategic merge patch: lists of built-in kinds merge by their well-known key.
//!
//! Supported directives: `$patch: replace_object|delete|merge`, `$retainKeys`, `$setElementOrder/…`,
//! `$deleteFromPrimitiveList/…`.

use serde_json::{Map, Value};

use crate::schema::{ListKind, SchemaNode, TypeRef};

/// Merges `patch` into `resource_path`.
pub(crate) fn apply_strategic_patch(target: &mut Value, patch: &Value, ty: TypeRef<'_>) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *target = Value::Object(without_directives(patch));
            return;
        }
        Some("delete") => {
            *target = Value::Null;
            return;
        }
        _ => {}
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(map) = target.as_object_mut() else { return };
    if let Some(keep) = patch.get("$retainKeys").and_then(Value::as_array) {
        map.retain(|key, _| keep.iter().any(|k| k == key));
    }
    for (key, value) in patch {
        if let Some(list) = key.strip_prefix("$deleteFromPrimitiveList/") {
            delete_primitives(map, list, value);
        } else if !key.starts_with('$') {
            merge_field(map, key, value, ty);
        }
    }
    for (key, order) in patch {
        if let Some(list) = key.strip_prefix("$setElementOrder/") {
            reorder(map, list, order, ty);
        }
    }
}

fn without_directives(patch: &Map<String, Value>) -> Map<String, Value> {
    patch.iter().filter(|(k, _)| !k.starts_with('$')).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn merge_field(map: &mut Map<String, Value>, key: &str, value: &Value, ty: TypeRef<'_>) {
    if value.is_null() {
        map.shift_remove(key);
        return;
    }
    let child = ty.child(key);
    let place = map.entry(key.to_owned()).or_insert(Value::Null);
    match (child.map(|c| (c, c.node())), value) {
        (Some((child, SchemaNode::List { kind: ListKind::Keyed(keys), .. })), Value::Array(items)) => {
            if !place.is_array() {
                *place = Value::Array(Vec::new());
            }
            if let (Some(list), Some((merge_key, _))) = (place.as_array_mut(), keys.first()) {
                merge_keyed_list(list, items, merge_key, child.elem());
            }
        }
        (Some((_, SchemaNode::List { kind: ListKind::Set, .. })), Value::Array(items)) => {
            merge_set(place, items)
        }
        (Some((child, SchemaNode::Struct { .. } | SchemaNode::Map { .. })), Value::Object(_)) => {
            apply_strategic_patch(place, value, child);
            if place.is_null() {
                map.shift_remove(key);
            }
        }
        (Some((_, SchemaNode::List { .. })), _) => *place = value.clone(),
        _ => super::apply_merge_patch(place, value),
    }
}

fn merge_keyed_list(list: &mut Vec<Value>, items: &[Value], merge_key: &str, elem: TypeRef<'_>) {
    if items.iter().any(|i| i.get("$patch").and_then(Value::as_str) == Some("replace")) {
        *list = items.iter().filter(|i| i.get("$patch").is_none()).cloned().collect();
        return;
    }
    for item in items {
        let key = item.get(merge_key);
        let at = list.iter().position(|have| have.get(merge_key) == key && key.is_some());
        if item.get("$patch").and_then(Value::as_str) == Some("delete") {
            if let Some(at) = at {
                list.remove(at);
            }
            continue;
        }
        match at {
            Some(at) => apply_strategic_patch(&mut list[at], item, elem),
            None => {
                let mut fresh = Value::Null;
                apply_strategic_patch(&mut fresh, item, elem);
                list.push(fresh);
            }
        }
    }
}

fn merge_set(place: &mut Value, items: &[Value]) {
    if !place.is_array() {
        *place = Value::Array(Vec::new());
    }
    if let Some(list) = place.as_array_mut() {
        for item in items {
            if !list.contains(item) {
                list.push(item.clone());
            }
        }
    }
}

fn delete_primitives(map: &mut Map<String, Value>, list: &str, removed: &Value) {
    if let (Some(Value::Array(list)), Some(removed)) = (map.get_mut(list), removed.as_array()) {
        list.retain(|v| !removed.contains(v));
    }
}

/// Items named in `order` take that order; each other item stays behind the named item that preceded it.
fn reorder(map: &mut Map<String, Value>, list: &str, order: &Value, ty: TypeRef<'_>) {
    let merge_key = match ty.child(list).map(TypeRef::node) {
        Some(SchemaNode::List { kind: ListKind::Keyed(keys), .. }) => {
            keys.first().map(|(k, _)| k.to_string())
        }
        _ => None,
    };
    let (Some(Value::Array(items)), Some(order)) = (map.get_mut(list), order.as_array()) else { return };
    let identity = |v: &Value| match &merge_key {
        Some(key) => v.get(key).cloned().unwrap_or_default(),
        None => v.clone(),
    };
    let rank = |v: &Value| order.iter().position(|o| identity(o) == identity(v));
    let mut last = 0;
    let mut ranked: Vec<(usize, usize, Value)> = Vec::with_capacity(items.len());
    for (index, item) in std::mem::take(items).into_iter().enumerate() {
        last = rank(&item).unwrap_or(last);
        ranked.push((last, index, item));
    }
    ranked.sort_by_key(|(rank, index, _)| (*rank, *index));
    items.extend(ranked.into_iter().map(|(_, _, item)| item));
}
