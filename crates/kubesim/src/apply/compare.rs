//! Computes the fields that differ between two versions of an object.

use serde_json::{Map, Value};

use super::fields::{FieldSet, field_element};
use crate::schema::{ListKind, SchemaField, SchemaNode, TypeRef, ValueShape, item_key};

/// The difference between two objects.
#[derive(Debug, Default)]
pub(crate) struct FieldDiff {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

/// Compares field by field, according to the types.
pub(crate) fn compare_objects(old: &Value, new: &Value, ty: TypeRef<'_>) -> FieldDiff {
    let mut walk = FieldDiffBuilder { diff: FieldDiff::default(), path: Vec::new() };
    walk.compare_values(old, new, ty);
    walk.diff
}

/// Whether the server's Go type has the field even when it was not sent.
fn is_held_by_value(ty: TypeRef<'_>, key: &str) -> bool {
    let required_list =
        |f: &SchemaField| f.required && matches!(ty.sibling(f.node).node(), SchemaNode::List { .. });
    ty.field(key).is_some_and(|f| f.by_value || required_list(f))
}

struct FieldDiffBuilder {
    diff: FieldDiff,
    path: Vec<Box<str>>,
}

impl FieldDiffBuilder {
    fn compare_values(&mut self, old: &Value, new: &Value, ty: TypeRef<'_>) {
        if old == new {
            return;
        }
        match (ty.shape(old), ty.shape(new)) {
            (ValueShape::Map(old), ValueShape::Map(new)) => self.compare_maps(old, new, ty),
            (ValueShape::Items(old, kind), ValueShape::Items(new, _)) => {
                self.compare_items(old, new, kind, ty)
            }
            _ => self.diff.modified.insert(&self.path),
        }
    }

    fn compare_maps(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, ty: TypeRef<'_>) {
        for (key, value) in new {
            // Never owned, always different, and large.
            if key == "managedFields" && self.path.len() == 1 {
                continue;
            }
            let Some(child) = ty.child(key) else { continue };
            let by_value = is_held_by_value(ty, key);
            self.path.push(field_element(key));
            match old.get(key).filter(|v| !v.is_null()) {
                Some(before) => self.compare_values(before, value, child),
                None => self.record_one_sided(value, child, true, by_value),
            }
            self.path.pop();
        }
        for (key, value) in old.iter().filter(|(k, v)| !v.is_null() && !new.contains_key(*k)) {
            let Some(child) = ty.child(key) else { continue };
            self.path.push(field_element(key));
            self.record_one_sided(value, child, false, false);
            self.path.pop();
        }
    }

    fn compare_items(&mut self, old: &[Value], new: &[Value], kind: &ListKind, ty: TypeRef<'_>) {
        let find =
            |items: &[Value], key: &str| items.iter().position(|i| item_key(kind, i).as_deref() == Some(key));
        for value in new {
            let Some(key) = item_key(kind, value) else { continue };
            let before = find(old, &key).map(|i| &old[i]);
            self.path.push(key.into());
            match before {
                Some(before) => self.compare_values(before, value, ty.elem()),
                None => self.record_one_sided(value, ty.elem(), true, false),
            }
            self.path.pop();
        }
        for value in old {
            let Some(key) = item_key(kind, value) else { continue };
            if find(new, &key).is_none() {
                self.path.push(key.into());
                self.record_one_sided(value, ty.elem(), false, false);
                self.path.pop();
            }
        }
    }

    /// Records a value that only one side has. A field held by value exists even if empty: only its content counts.
    fn record_one_sided(&mut self, value: &Value, ty: TypeRef<'_>, added: bool, always_there: bool) {
        let set = if added { &mut self.diff.added } else { &mut self.diff.removed };
        let shape = ty.shape(value);
        let walked = match &shape {
            ValueShape::Leaf => false,
            ValueShape::Map(map) => !map.is_empty(),
            ValueShape::Items(items, _) => !items.is_empty(),
        };
        if !(added && always_there && walked) {
            set.insert(&self.path);
        }
        match shape {
            ValueShape::Leaf => {}
            ValueShape::Map(map) => {
                for (key, value) in map {
                    let Some(child) = ty.child(key) else { continue };
                    let by_value = is_held_by_value(ty, key);
                    self.path.push(field_element(key));
                    self.record_one_sided(value, child, added, by_value);
                    self.path.pop();
                }
            }
            ValueShape::Items(items, kind) => {
                for item in items {
                    if let Some(key) = item_key(kind, item) {
                        self.path.push(key.into());
                        self.record_one_sided(item, ty.elem(), added, false);
                        self.path.pop();
                    }
                }
            }
        }
    }
}
