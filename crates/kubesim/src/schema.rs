//! The fields of each kind, and how their lists and maps merge.
//!
//! One description is used for strict decoding, pruning of unknown fields, server-side apply, strategic merge and
//! `/openapi/v3`, so these are consistent. The built-in kinds are described in a compact format, one type per line
//! (`schema/*.txt`): `ValueType parse_field:parse_token parse_field:parse_token …`, where a token is
//!
//! | token | meaning |
//! |---|---|
//! | `s` `i` `n` `b` `t` | string, integer, number, boolean, time |
//! | `q` `x` `o` | quantity, integer or string, opaque value owned as a whole |
//! | `group.ValueType` | another line; a `~` after a line's own name makes every value of it atomic |
//! | `[T]` `[T\|]` `[T\|k1,k2=default]` | atomic list, set, list keyed by those fields |
//! | `{T}` `{T}~` | map merged by key, atomic map |
//! | suffix `!` / `.` | required / held by value, so present even when empty |
//!
//! For custom resources the same structure is built from their `openAPIV3Schema` ([`custom`]).

pub(crate) mod custom;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

/// Index of a node in its [`TypeSchema`].
pub(crate) type NodeId = u32;

/// The type of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scalar {
    Text,
    Int,
    Number,
    Bool,
    Time,
    Quantity,
    IntOrText,
}

/// How a list merges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListKind {
    Atomic,
    Set,
    /// Key fields, each with the default used when it is missing.
    Keyed(Vec<(Box<str>, Option<Value>)>),
}

/// One field of a structure.
#[derive(Clone, Debug)]
pub(crate) struct SchemaField {
    pub node: NodeId,
    pub required: bool,
    /// Held by value in the server's Go types: not recorded as owned when it appears.
    pub by_value: bool,
    pub default: Option<Value>,
}

/// One type.
#[derive(Clone, Debug)]
pub(crate) enum SchemaNode {
    Scalar(Scalar),
    /// Opaque and atomic.
    Opaque,
    /// Unknown structure, merged map by map (custom resources that preserve unknown fields).
    Deduced,
    Struct {
        name: Box<str>,
        fields: HashMap<Box<str>, SchemaField>,
        atomic: bool,
        preserve: bool,
    },
    Map {
        elem: NodeId,
        atomic: bool,
    },
    List {
        elem: NodeId,
        kind: ListKind,
    },
}

/// A set of types.
#[derive(Debug, Default, Clone)]
pub(crate) struct TypeSchema {
    nodes: Vec<SchemaNode>,
    names: HashMap<Box<str>, NodeId>,
}

static BUILTIN: LazyLock<Arc<TypeSchema>> = LazyLock::new(|| {
    Arc::new(TypeSchema::parse(concat!(include_str!("schema/core.txt"), include_str!("schema/groups.txt"))))
});

impl TypeSchema {
    /// The types of the built-in kinds.
    pub(crate) fn builtin() -> Arc<TypeSchema> {
        BUILTIN.clone()
    }

    /// Only the metadata types, as the base of a custom resource's schema.
    pub(crate) fn metadata_only() -> TypeSchema {
        let mut text = String::new();
        for line in include_str!("schema/core.txt").lines().filter(|l| l.starts_with("meta.")) {
            text.push_str(line);
            text.push('\n');
        }
        TypeSchema::parse(&text)
    }

    fn parse(text: &str) -> TypeSchema {
        let mut schema = TypeSchema::default();
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            let id = schema.named_type(name.trim_end_matches('~'));
            let fields = rest.split_whitespace().filter_map(|f| f.split_once(':'));
            let fields = fields.map(|(key, token)| (key.into(), schema.parse_field(token))).collect();
            schema.nodes[id as usize] = SchemaNode::Struct {
                name: name.trim_end_matches('~').into(),
                fields,
                atomic: name.ends_with('~'),
                preserve: false,
            };
        }
        schema
    }

    fn named_type(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.add_node(SchemaNode::Opaque);
        self.names.insert(name.into(), id);
        id
    }

    /// Adds a node and returns its id.
    pub(crate) fn add_node(&mut self, node: SchemaNode) -> NodeId {
        self.nodes.push(node);
        NodeId::try_from(self.nodes.len() - 1).unwrap_or(NodeId::MAX)
    }

    fn parse_field(&mut self, token: &str) -> SchemaField {
        let by_value = token.ends_with('.');
        let token = token.trim_end_matches('.');
        let required = token.ends_with('!');
        SchemaField { node: self.parse_token(token.trim_end_matches('!')), required, by_value, default: None }
    }

    fn parse_token(&mut self, token: &str) -> NodeId {
        let scalar = |s| SchemaNode::Scalar(s);
        let node = match token {
            "s" => scalar(Scalar::Text),
            "i" => scalar(Scalar::Int),
            "n" => scalar(Scalar::Number),
            "b" => scalar(Scalar::Bool),
            "t" => scalar(Scalar::Time),
            "q" => scalar(Scalar::Quantity),
            "x" => scalar(Scalar::IntOrText),
            "o" => SchemaNode::Opaque,
            _ => return self.parse_compound(token),
        };
        self.add_node(node)
    }

    fn parse_compound(&mut self, token: &str) -> NodeId {
        let atomic = token.ends_with('~');
        let token = token.trim_end_matches('~');
        if let Some(inner) = token.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            let elem = self.parse_token(inner);
            return self.add_node(SchemaNode::Map { elem, atomic });
        }
        let Some(inner) = token.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
            return self.named_type(token);
        };
        let (inner, keys) = match inner.rsplit_once('|') {
            Some((inner, keys)) => (inner, Some(keys)),
            None => (inner, None),
        };
        let kind = match keys {
            None => ListKind::Atomic,
            Some("") => ListKind::Set,
            Some(keys) => ListKind::Keyed(keys.split(',').map(parse_key_field).collect()),
        };
        let elem = self.parse_token(inner);
        self.add_node(SchemaNode::List { elem, kind })
    }

    /// The type of that name.
    pub(crate) fn lookup(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    /// A reference to one node.
    pub(crate) fn type_ref(&self, id: NodeId) -> TypeRef<'_> {
        TypeRef { schema: self, id }
    }
}

fn parse_key_field(key: &str) -> (Box<str>, Option<Value>) {
    match key.split_once('=') {
        Some((key, default)) => (key.into(), Some(Value::from(default))),
        None => (key.into(), None),
    }
}

static DEDUCED: SchemaNode = SchemaNode::Deduced;

/// A reference to one type of a schema.
#[derive(Clone, Copy)]
pub(crate) struct TypeRef<'s> {
    schema: &'s TypeSchema,
    id: NodeId,
}

const DEDUCED_ID: NodeId = NodeId::MAX;

impl<'s> TypeRef<'s> {
    /// The node itself.
    pub(crate) fn node(self) -> &'s SchemaNode {
        self.schema.nodes.get(self.id as usize).unwrap_or(&DEDUCED)
    }

    /// The id of the node; used to detect cycles.
    pub(crate) fn id(self) -> NodeId {
        self.id
    }

    /// Another node of the same schema.
    pub(crate) fn sibling(self, id: NodeId) -> TypeRef<'s> {
        TypeRef { schema: self.schema, id }
    }

    fn deduced(self) -> TypeRef<'s> {
        self.sibling(DEDUCED_ID)
    }

    /// The declared field; `None` if this is not a structure or does not declare it.
    pub(crate) fn field(self, key: &str) -> Option<&'s SchemaField> {
        match self.node() {
            SchemaNode::Struct { fields, .. } => fields.get(key),
            _ => None,
        }
    }

    /// The type of the value at `key`; `None` if the structure does not declare it.
    pub(crate) fn child(self, key: &str) -> Option<TypeRef<'s>> {
        match self.node() {
            SchemaNode::Struct { fields, preserve, .. } => match fields.get(key) {
                Some(field) => Some(self.sibling(field.node)),
                None => preserve.then(|| self.deduced()),
            },
            SchemaNode::Map { elem, .. } => Some(self.sibling(*elem)),
            SchemaNode::Deduced => Some(self),
            _ => None,
        }
    }

    /// The type of a list's items.
    pub(crate) fn elem(self) -> TypeRef<'s> {
        match self.node() {
            SchemaNode::List { elem, .. } | SchemaNode::Map { elem, .. } => self.sibling(*elem),
            _ => self.deduced(),
        }
    }

    /// How to traverse `value` under this type.
    pub(crate) fn shape<'v>(self, value: &'v Value) -> ValueShape<'s, 'v> {
        match (self.node(), value) {
            (
                SchemaNode::Struct { atomic: false, .. }
                | SchemaNode::Map { atomic: false, .. }
                | SchemaNode::Deduced,
                Value::Object(m),
            ) => ValueShape::Map(m),
            (SchemaNode::List { kind, .. }, Value::Array(items)) if *kind != ListKind::Atomic => {
                ValueShape::Items(items, kind)
            }
            _ => ValueShape::Leaf,
        }
    }
}

/// How to traverse a value.
pub(crate) enum ValueShape<'s, 'v> {
    /// Owned as a whole.
    Leaf,
    /// Field by field.
    Map(&'v serde_json::Map<String, Value>),
    /// Item by item, each identified by its key.
    Items(&'v [Value], &'s ListKind),
}

/// The path element of a list item in the form of `fieldsV1`: `k:{…}` or `v:…`; `None` if a key field is missing.
pub(crate) fn item_key(kind: &ListKind, item: &Value) -> Option<String> {
    match kind {
        ListKind::Atomic => None,
        ListKind::Set => Some(format!("v:{item}")),
        ListKind::Keyed(keys) => {
            let mut parts: Vec<(&str, &Value)> = Vec::with_capacity(keys.len());
            for (key, default) in keys {
                let value = item.get(&**key).filter(|v| !v.is_null());
                parts.push((key, value.or(default.as_ref())?));
            }
            parts.sort_by_key(|(k, _)| *k);
            let inner: Vec<String> = parts.iter().map(|(k, v)| format!("\"{k}\":{v}")).collect();
            Some(format!("k:{{{}}}", inner.join(",")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_type_named_in_the_tables_is_defined() {
        let schema = TypeSchema::builtin();
        for (name, id) in &schema.names {
            assert!(
                matches!(schema.type_ref(*id).node(), SchemaNode::Struct { .. }),
                "{name} is used but not defined"
            );
        }
    }

    #[test]
    fn a_port_key_includes_the_default_protocol() {
        let kind = ListKind::Keyed(vec![parse_key_field("containerPort"), parse_key_field("protocol=TCP")]);
        assert_eq!(
            item_key(&kind, &json!({"containerPort": 80})).as_deref(),
            Some(r#"k:{"containerPort":80,"protocol":"TCP"}"#)
        );
    }
}
