//! Laying a configuration over a live object, and removing what an applier gave up.

use serde_json::Value;

use super::fields::{FieldSet, field};
use crate::schema::{ListKind, Node, Shape, Ty, item_key};

/// Lays `config` over `live`.
pub(crate) fn merge(live: &mut Value, config: &Value, ty: Ty<'_>) {
    match (ty.shape(config), &mut *live) {
        (Shape::Map(config), Value::Object(live)) => {
            for (key, value) in config {
                let Some(child) = ty.child(key) else { continue };
                match live.get_mut(key) {
                    Some(place) if !place.is_null() => merge(place, value, child),
                    _ => drop(live.insert(key.clone(), value.clone())),
                }
            }
        }
        (Shape::Items(config, kind), Value::Array(live)) => merge_items(live, config, kind, ty.elem()),
        _ => *live = config.clone(),
    }
}

/// Items of the configuration come in its order; live items it does not name keep their place relative to these.
fn merge_items(live: &mut Vec<Value>, config: &[Value], kind: &ListKind, elem: Ty<'_>) {
    let keyed: Vec<(String, &Value)> = config.iter().filter_map(|i| Some((item_key(kind, i)?, i))).collect();
    let mut rest: Vec<(Option<String>, Value)> =
        std::mem::take(live).into_iter().map(|i| (item_key(kind, &i), i)).collect();
    for (key, item) in keyed {
        match rest.iter().position(|(k, _)| k.as_deref() == Some(&key)) {
            Some(at) => {
                // What stands before the item and is not ours to order goes out first.
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
                merge(&mut found, item, elem);
                live.push(found);
            }
            None => live.push(item.clone()),
        }
    }
    live.extend(rest.into_iter().map(|(_, item)| item));
}

/// Removes what is in `last` and that nobody in `kept` still owns.
pub(crate) fn prune(value: &mut Value, last: &FieldSet, kept: &FieldSet, ty: Ty<'_>) {
    match (ty.node(), value) {
        (Node::List { kind, .. }, Value::Array(items)) if *kind != ListKind::Atomic => {
            items.retain_mut(|item| {
                let Some(key) = item_key(kind, item) else { return true };
                prune_one(item, last.children.get(&*key), kept.children.get(&*key), ty.elem())
            });
        }
        (_, Value::Object(map)) => {
            map.retain(|key, value| {
                let (Some(child), element) = (ty.child(key), field(key)) else { return true };
                prune_one(value, last.children.get(&element), kept.children.get(&element), child)
            });
        }
        _ => {}
    }
}

/// Whether the value stays.
fn prune_one(value: &mut Value, last: Option<&FieldSet>, kept: Option<&FieldSet>, ty: Ty<'_>) -> bool {
    match (last, kept) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(last), Some(kept)) => {
            prune(value, last, kept, ty);
            true
        }
    }
}
