//! Which fields differ between two versions of an object.

use serde_json::{Map, Value};

use super::fields::{FieldSet, field};
use crate::schema::{Field, ListKind, Node, Shape, Ty, item_key};

/// The difference between two objects.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    pub added: FieldSet,
    pub modified: FieldSet,
    pub removed: FieldSet,
}

/// Compares field by field, as the types say.
pub(crate) fn compare(old: &Value, new: &Value, ty: Ty<'_>) -> Diff {
    let mut walk = Walk { diff: Diff::default(), path: Vec::new() };
    walk.both(old, new, ty);
    walk.diff
}

/// Whether the server's own type holds the field even when nothing was sent.
fn by_value(ty: Ty<'_>, key: &str) -> bool {
    let required_list = |f: &Field| f.required && matches!(ty.sibling(f.node).node(), Node::List { .. });
    ty.field(key).is_some_and(|f| f.by_value || required_list(f))
}

struct Walk {
    diff: Diff,
    path: Vec<Box<str>>,
}

impl Walk {
    fn both(&mut self, old: &Value, new: &Value, ty: Ty<'_>) {
        if old == new {
            return;
        }
        match (ty.shape(old), ty.shape(new)) {
            (Shape::Map(old), Shape::Map(new)) => self.maps(old, new, ty),
            (Shape::Items(old, kind), Shape::Items(new, _)) => self.items(old, new, kind, ty),
            _ => self.diff.modified.insert(&self.path),
        }
    }

    fn maps(&mut self, old: &Map<String, Value>, new: &Map<String, Value>, ty: Ty<'_>) {
        for (key, value) in new {
            // Never owned, always different, and long.
            if key == "managedFields" && self.path.len() == 1 {
                continue;
            }
            let Some(child) = ty.child(key) else { continue };
            let by_value = by_value(ty, key);
            self.path.push(field(key));
            match old.get(key).filter(|v| !v.is_null()) {
                Some(before) => self.both(before, value, child),
                None => self.one(value, child, true, by_value),
            }
            self.path.pop();
        }
        for (key, value) in old.iter().filter(|(k, v)| !v.is_null() && !new.contains_key(*k)) {
            let Some(child) = ty.child(key) else { continue };
            self.path.push(field(key));
            self.one(value, child, false, false);
            self.path.pop();
        }
    }

    fn items(&mut self, old: &[Value], new: &[Value], kind: &ListKind, ty: Ty<'_>) {
        let find =
            |items: &[Value], key: &str| items.iter().position(|i| item_key(kind, i).as_deref() == Some(key));
        for value in new {
            let Some(key) = item_key(kind, value) else { continue };
            let before = find(old, &key).map(|i| &old[i]);
            self.path.push(key.into());
            match before {
                Some(before) => self.both(before, value, ty.elem()),
                None => self.one(value, ty.elem(), true, false),
            }
            self.path.pop();
        }
        for value in old {
            let Some(key) = item_key(kind, value) else { continue };
            if find(new, &key).is_none() {
                self.path.push(key.into());
                self.one(value, ty.elem(), false, false);
                self.path.pop();
            }
        }
    }

    /// A value that only one side has. One held by value is there even when empty, so only its content counts.
    fn one(&mut self, value: &Value, ty: Ty<'_>, added: bool, always_there: bool) {
        let set = if added { &mut self.diff.added } else { &mut self.diff.removed };
        let shape = ty.shape(value);
        let walked = match &shape {
            Shape::Leaf => false,
            Shape::Map(map) => !map.is_empty(),
            Shape::Items(items, _) => !items.is_empty(),
        };
        if !(added && always_there && walked) {
            set.insert(&self.path);
        }
        match shape {
            Shape::Leaf => {}
            Shape::Map(map) => {
                for (key, value) in map {
                    let Some(child) = ty.child(key) else { continue };
                    let by_value = by_value(ty, key);
                    self.path.push(field(key));
                    self.one(value, child, added, by_value);
                    self.path.pop();
                }
            }
            Shape::Items(items, kind) => {
                for item in items {
                    if let Some(key) = item_key(kind, item) {
                        self.path.push(key.into());
                        self.one(item, ty.elem(), added, false);
                        self.path.pop();
                    }
                }
            }
        }
    }
}
