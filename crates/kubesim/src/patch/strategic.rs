//! Strategic merge patch: lists of built-in kinds merge by their well-known key.
//!
//! Directives understood: `$patch: replace|delete|merge`, `$retainKeys`, `$setElementOrder/…`,
//! `$deleteFromPrimitiveList/…`.

use serde_json::{Map, Value};

use crate::schema::{ListKind, Node, Ty};

/// Lays `patch` over `target`.
pub(crate) fn strategic(target: &mut Value, patch: &Value, ty: Ty<'_>) {
    let Some(patch) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    match patch.get("$patch").and_then(Value::as_str) {
        Some("replace") => {
            *target = Value::Object(plain(patch));
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
            one(map, key, value, ty);
        }
    }
    for (key, order) in patch {
        if let Some(list) = key.strip_prefix("$setElementOrder/") {
            reorder(map, list, order, ty);
        }
    }
}

fn plain(patch: &Map<String, Value>) -> Map<String, Value> {
    patch.iter().filter(|(k, _)| !k.starts_with('$')).map(|(k, v)| (k.clone(), v.clone())).collect()
}

fn one(map: &mut Map<String, Value>, key: &str, value: &Value, ty: Ty<'_>) {
    if value.is_null() {
        map.shift_remove(key);
        return;
    }
    let child = ty.child(key);
    let place = map.entry(key.to_owned()).or_insert(Value::Null);
    match (child.map(|c| (c, c.node())), value) {
        (Some((child, Node::List { kind: ListKind::Keyed(keys), .. })), Value::Array(items)) => {
            if !place.is_array() {
                *place = Value::Array(Vec::new());
            }
            if let (Some(list), Some((merge_key, _))) = (place.as_array_mut(), keys.first()) {
                keyed(list, items, merge_key, child.elem());
            }
        }
        (Some((_, Node::List { kind: ListKind::Set, .. })), Value::Array(items)) => union(place, items),
        (Some((child, Node::Struct { .. } | Node::Map { .. })), Value::Object(_)) => {
            strategic(place, value, child);
            if place.is_null() {
                map.shift_remove(key);
            }
        }
        (Some((_, Node::List { .. })), _) => *place = value.clone(),
        _ => super::merge(place, value),
    }
}

fn keyed(list: &mut Vec<Value>, items: &[Value], merge_key: &str, elem: Ty<'_>) {
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
            Some(at) => strategic(&mut list[at], item, elem),
            None => {
                let mut fresh = Value::Null;
                strategic(&mut fresh, item, elem);
                list.push(fresh);
            }
        }
    }
}

fn union(place: &mut Value, items: &[Value]) {
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

fn delete_primitives(map: &mut Map<String, Value>, list: &str, gone: &Value) {
    if let (Some(Value::Array(list)), Some(gone)) = (map.get_mut(list), gone.as_array()) {
        list.retain(|v| !gone.contains(v));
    }
}

/// Named items come in the order given; the others keep theirs, after the item they stood behind.
fn reorder(map: &mut Map<String, Value>, list: &str, order: &Value, ty: Ty<'_>) {
    let merge_key = match ty.child(list).map(Ty::node) {
        Some(Node::List { kind: ListKind::Keyed(keys), .. }) => keys.first().map(|(k, _)| k.to_string()),
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
