//! Sets of field paths, in the path elements of `fieldsV1`: `f:name`, `k:{"name":"web"}`, `v:"x"`.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::{SchemaNode, TypeRef, ValueShape, item_key};

/// A set of paths: whether the path to this node is a member, and the subsets below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    pub is_member: bool,
    pub children: BTreeMap<Box<str>, FieldSet>,
}

/// Metadata fields that no manager owns.
const IDENTITY_FIELDS: [&str; 10] = [
    "f:name",
    "f:namespace",
    "f:creationTimestamp",
    "f:selfLink",
    "f:uid",
    "f:generation",
    "f:managedFields",
    "f:resourceVersion",
    "f:deletionTimestamp",
    "f:deletionGracePeriodSeconds",
];

impl FieldSet {
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_member && self.children.is_empty()
    }

    /// Adds the path.
    pub(crate) fn insert(&mut self, path: &[Box<str>]) {
        let mut at = self;
        for element in path {
            at = at.children.entry(element.clone()).or_default();
        }
        at.is_member = true;
    }

    pub(crate) fn union(&self, other: &FieldSet) -> FieldSet {
        let mut out = self.clone();
        out.extend(other);
        out
    }

    /// Adds all of `other`.
    pub(crate) fn extend(&mut self, other: &FieldSet) {
        self.is_member |= other.is_member;
        for (element, child) in &other.children {
            self.children.entry(element.clone()).or_default().extend(child);
        }
    }

    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        let mut out = FieldSet { is_member: self.is_member && other.is_member, children: BTreeMap::new() };
        for (element, child) in &self.children {
            if let Some(theirs) = other.children.get(element) {
                let both = child.intersection(theirs);
                if !both.is_empty() {
                    out.children.insert(element.clone(), both);
                }
            }
        }
        out
    }

    pub(crate) fn difference(&self, other: &FieldSet) -> FieldSet {
        let mut out = FieldSet { is_member: self.is_member && !other.is_member, children: BTreeMap::new() };
        for (element, child) in &self.children {
            let rest = match other.children.get(element) {
                Some(theirs) => child.difference(theirs),
                None => child.clone(),
            };
            if !rest.is_empty() {
                out.children.insert(element.clone(), rest);
            }
        }
        out
    }

    /// Without `apiVersion`, `kind` and the metadata fields that the server sets.
    pub(crate) fn without_identity(mut self) -> FieldSet {
        self.is_member = false;
        self.children.remove("f:apiVersion");
        self.children.remove("f:kind");
        if let Some(metadata) = self.children.get_mut("f:metadata") {
            metadata.is_member = false;
            metadata.children.retain(|key, _| !IDENTITY_FIELDS.contains(&&**key));
            if metadata.children.is_empty() {
                self.children.remove("f:metadata");
            }
        }
        self
    }

    /// Only the fields that a write through that subresource may own.
    pub(crate) fn restrict_to_subresource(mut self, subresource: &str) -> FieldSet {
        match subresource {
            "status" => self.children.retain(|key, _| matches!(&**key, "f:status" | "f:metadata")),
            _ => drop(self.children.remove("f:status")),
        }
        self
    }

    /// Every path in dotted form: `.spec.container_fields[name="web"].image`.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut out = Vec::new();
        self.collect_paths(&mut String::new(), &mut out);
        out
    }

    fn collect_paths(&self, path: &mut String, out: &mut Vec<String>) {
        if self.is_member {
            out.push(path.clone());
        }
        for (element, child) in &self.children {
            let len = path.len();
            path.push_str(&format_element(element));
            child.collect_paths(path, out);
            path.truncate(len);
        }
    }

    /// The `fieldsV1` form.
    pub(crate) fn to_json(&self) -> Value {
        let mut map = Map::new();
        if self.is_member && !self.children.is_empty() {
            map.insert(".".into(), Value::Object(Map::new()));
        }
        for (element, child) in &self.children {
            map.insert(element.to_string(), child.to_json());
        }
        Value::Object(map)
    }

    /// Parses the `fieldsV1` form.
    pub(crate) fn from_json(value: &Value) -> FieldSet {
        let Some(map) = value.as_object() else { return FieldSet::default() };
        let mut set = FieldSet { is_member: map.is_empty(), children: BTreeMap::new() };
        for (element, child) in map {
            if element == "." {
                set.is_member = true;
            } else {
                set.children.insert(element.as_str().into(), FieldSet::from_json(child));
            }
        }
        set
    }
}

fn format_element(element: &str) -> String {
    if let Some(field) = element.strip_prefix("f:") {
        return format!(".{field}");
    }
    if let Some(value) = element.strip_prefix("v:") {
        return format!("[={value}]");
    }
    let keys: Value = serde_json::from_str(element.trim_start_matches("k:")).unwrap_or_default();
    let keys = keys.as_object().into_iter().flatten().map(|(k, v)| format!("{k}={v}"));
    format!("[{}]", keys.collect::<Vec<_>>().join(","))
}

/// The path element of a field.
pub(crate) fn field_element(key: &str) -> Box<str> {
    format!("f:{key}").into_boxed_str()
}

/// The field set of `value`: its leaves, the items of its lists and the entries of its maps.
pub(crate) fn build_field_set(value: &Value, ty: TypeRef<'_>) -> FieldSet {
    let mut out = FieldSet::default();
    match ty.shape(value) {
        ValueShape::Leaf => out.is_member = true,
        ValueShape::Map(map) => {
            let structure = matches!(ty.node(), SchemaNode::Struct { .. });
            for (key, value) in map {
                let Some(child) = ty.child(key) else { continue };
                let mut set = build_field_set(value, child);
                let empty = value.is_null() || value.as_object().is_some_and(Map::is_empty);
                set.is_member |= empty || !(structure && ty.field(key).is_some());
                if !set.is_empty() {
                    out.children.insert(field_element(key), set);
                }
            }
        }
        ValueShape::Items(items, kind) => {
            for item in items {
                if let Some(key) = item_key(kind, item) {
                    let mut set = build_field_set(item, ty.elem());
                    set.is_member = true;
                    out.children.insert(key.into(), set);
                }
            }
        }
    }
    out
}
