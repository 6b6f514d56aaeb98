//! Merges an applied configuration into a live object, and removes the fields that an applier no longer sends.

use serde_json::Value;

use super::fields::{FieldSet, field_element};
use crate::schema::{ListKind, SchemaNode, TypeRef, ValueShape, item_key};

/// Merges `config` into `live`.
pub(crate) fn merge_config(live: &mut Value, config: &Value, ty: TypeRef<'_>) {
    match (ty.shape(config), &mut *live) {
        (ValueShape::Map(config), Value::Object(live)) => {
            for (key, value) in config {
                let Some(child) = ty.child(key) else { continue };
                match live.get_mut(key) {
                    Some(place) if !place.is_null() => merge_config(place, value, child),
                    _ => drop(live.insert(key.clone(), value.clone())),
                }
            }
        }
        (ValueShape::Items(config, kind), Value::Array(live)) => merge_items(live, config, kind, ty.elem()),
        _ => *live = config.clone(),
    }
}

/// Items of the configuration take its order; other live items keep their position relative to them.
fn merge_items(live: &mut Vec<Value>, config: &[Value], kind: &ListKind, elem: TypeRef<'_>) {
    let keyed: Vec<(String, &Value)> = config.iter().filter_map(|i| Some((item_key(kind, i)?, i))).collect();
    let mut rest: Vec<(Option<String>, Value)> =
        std::mem::take(live).into_iter().map(|i| (item_key(kind, &i), i)).collect();
    for (key, item) in keyed {
        match rest.iter().position(|(k, _)| k.as_deref() == Some(&key)) {
            Some(at) => {
                // Preceding items that are not in the configuration are emitted first.
                let named = |k: &Option<String>| config.iter().any(|c| item_key(kind, c) == *k);
                let mut index = 0;
                let mut until = at;
                while index < until {
                    if named(&rest[index].0) {
                        index += 1;
                    } else {
                        live.push(rest.remove(index).1);
                        until -= 1;
                    }
                }
                let (_, mut found) = rest.remove(until);
                merge_config(&mut found, item, elem);
                live.push(found);
            }
            None => live.push(item.clone()),
        }
    }
    live.extend(rest.into_iter().map(|(_, item)| item));
}

/// Removes the fields that are in `last` but not in `owned`, the fields that any manager still owns.
pub(crate) fn prune_fields(value: &mut Value, last: &FieldSet, owned: &FieldSet, ty: TypeRef<'_>) {
    match (ty.node(), value) {
        (SchemaNode::List { kind, .. }, Value::Array(items)) if *kind != ListKind::Atomic => {
            items.retain_mut(|item| {
                let Some(key) = item_key(kind, item) else { return true };
                prune_value(item, last.children.get(&*key), owned.children.get(&*key), ty.elem())
            });
        }
        (_, Value::Object(map)) => {
            map.retain(|key, value| {
                let (Some(child), element) = (ty.child(key), field_element(key)) else { return true };
                prune_value(value, last.children.get(&element), owned.children.get(&element), child)
            });
        }
        _ => {}
    }
}

/// Prunes the value; returns whether to retain it.
fn prune_value(
    value: &mut Value,
    last: Option<&FieldSet>,
    owned: Option<&FieldSet>,
    ty: TypeRef<'_>,
) -> bool {
    match (last, owned) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(last), Some(owned)) => {
            prune_fields(value, last, owned, ty);
            true
        }
    }
}
