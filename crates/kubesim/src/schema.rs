//! What fields a kind has, and how their lists and maps merge.
//!
//! One description serves strict decoding, pruning of unknown fields, server-side apply, strategic merge and
//! `/openapi/v3`, so these cannot disagree. The built-in kinds are written in a small language, one type per line
//! (`schema/*.txt`): `Type field:token field:token …`, where a token is
//!
//! | token | meaning |
//! |---|---|
//! | `s` `i` `n` `b` `t` | string, integer, number, boolean, time |
//! | `q` `x` `o` | quantity, integer or string, opaque value owned as a whole |
//! | `group.Type` | another line; a `~` after a line's own name makes every value of it atomic |
//! | `[T]` `[T\|]` `[T\|k1,k2=default]` | atomic list, set, list keyed by those fields |
//! | `{T}` `{T}~` | map merged by key, atomic map |
//! | suffix `!` / `.` | required / held by value, so present even when empty |
//!
//! Custom resources get the same structure from their `openAPIV3Schema` ([`custom`]).

pub(crate) mod custom;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

/// Index of a node in its [`Schema`].
pub(crate) type NodeId = u32;

/// A scalar's kind.
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
    /// Key fields with the value a missing one stands for.
    Keyed(Vec<(Box<str>, Option<Value>)>),
}

/// One field of a structure.
#[derive(Clone, Debug)]
pub(crate) struct Field {
    pub node: NodeId,
    pub required: bool,
    /// Held by value in the server's own types: not recorded as owned when it appears.
    pub by_value: bool,
    pub default: Option<Value>,
}

/// One type.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Scalar(Scalar),
    /// Opaque and atomic.
    Opaque,
    /// Unknown structure, merged map by map (custom resources that preserve unknown fields).
    Deduced,
    Struct {
        name: Box<str>,
        fields: HashMap<Box<str>, Field>,
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
pub(crate) struct Schema {
    nodes: Vec<Node>,
    names: HashMap<Box<str>, NodeId>,
}

static BUILTIN: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    Arc::new(Schema::parse(concat!(include_str!("schema/core.txt"), include_str!("schema/groups.txt"))))
});

impl Schema {
    /// The types of the built-in kinds.
    pub(crate) fn builtin() -> Arc<Schema> {
        BUILTIN.clone()
    }

    /// Only the metadata types, to which a custom resource adds its own.
    pub(crate) fn metadata_only() -> Schema {
        let mut text = String::new();
        for line in include_str!("schema/core.txt").lines().filter(|l| l.starts_with("meta.")) {
            text.push_str(line);
            text.push('\n');
        }
        Schema::parse(&text)
    }

    fn parse(text: &str) -> Schema {
        let mut schema = Schema::default();
        for line in text.lines().filter(|l| !l.starts_with('#') && !l.is_empty()) {
            let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
            let id = schema.named(name.trim_end_matches('~'));
            let fields = rest.split_whitespace().filter_map(|f| f.split_once(':'));
            let fields = fields.map(|(key, token)| (key.into(), schema.field(token))).collect();
            schema.nodes[id as usize] = Node::Struct {
                name: name.trim_end_matches('~').into(),
                fields,
                atomic: name.ends_with('~'),
                preserve: false,
            };
        }
        schema
    }

    fn named(&mut self, name: &str) -> NodeId {
        if let Some(id) = self.names.get(name) {
            return *id;
        }
        let id = self.add(Node::Opaque);
        self.names.insert(name.into(), id);
        id
    }

    /// Adds a node; its id.
    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId::try_from(self.nodes.len() - 1).unwrap_or(NodeId::MAX)
    }

    fn field(&mut self, token: &str) -> Field {
        let by_value = token.ends_with('.');
        let token = token.trim_end_matches('.');
        let required = token.ends_with('!');
        Field { node: self.token(token.trim_end_matches('!')), required, by_value, default: None }
    }

    fn token(&mut self, token: &str) -> NodeId {
        let scalar = |s| Node::Scalar(s);
        let node = match token {
            "s" => scalar(Scalar::Text),
            "i" => scalar(Scalar::Int),
            "n" => scalar(Scalar::Number),
            "b" => scalar(Scalar::Bool),
            "t" => scalar(Scalar::Time),
            "q" => scalar(Scalar::Quantity),
            "x" => scalar(Scalar::IntOrText),
            "o" => Node::Opaque,
            _ => return self.compound(token),
        };
        self.add(node)
    }

    fn compound(&mut self, token: &str) -> NodeId {
        let atomic = token.ends_with('~');
        let token = token.trim_end_matches('~');
        if let Some(inner) = token.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            let elem = self.token(inner);
            return self.add(Node::Map { elem, atomic });
        }
        let Some(inner) = token.strip_prefix('[').and_then(|t| t.strip_suffix(']')) else {
            return self.named(token);
        };
        let (inner, keys) = match inner.rsplit_once('|') {
            Some((inner, keys)) => (inner, Some(keys)),
            None => (inner, None),
        };
        let kind = match keys {
            None => ListKind::Atomic,
            Some("") => ListKind::Set,
            Some(keys) => ListKind::Keyed(keys.split(',').map(key_with_default).collect()),
        };
        let elem = self.token(inner);
        self.add(Node::List { elem, kind })
    }

    /// The type of that name, if there is one.
    pub(crate) fn lookup(&self, name: &str) -> Option<NodeId> {
        self.names.get(name).copied()
    }

    /// A view of one node.
    pub(crate) fn at(&self, id: NodeId) -> Ty<'_> {
        Ty { schema: self, id }
    }
}

fn key_with_default(key: &str) -> (Box<str>, Option<Value>) {
    match key.split_once('=') {
        Some((key, default)) => (key.into(), Some(Value::from(default))),
        None => (key.into(), None),
    }
}

static DEDUCED: Node = Node::Deduced;

/// One type seen inside its schema.
#[derive(Clone, Copy)]
pub(crate) struct Ty<'s> {
    schema: &'s Schema,
    id: NodeId,
}

const DEDUCED_ID: NodeId = NodeId::MAX;

impl<'s> Ty<'s> {
    /// The node itself.
    pub(crate) fn node(self) -> &'s Node {
        self.schema.nodes.get(self.id as usize).unwrap_or(&DEDUCED)
    }

    /// Its id, for cycles and names.
    pub(crate) fn id(self) -> NodeId {
        self.id
    }

    /// Another node of the same schema.
    pub(crate) fn sibling(self, id: NodeId) -> Ty<'s> {
        Ty { schema: self.schema, id }
    }

    fn deduced(self) -> Ty<'s> {
        self.sibling(DEDUCED_ID)
    }

    /// The declared field, if this is a structure that has it.
    pub(crate) fn field(self, key: &str) -> Option<&'s Field> {
        match self.node() {
            Node::Struct { fields, .. } => fields.get(key),
            _ => None,
        }
    }

    /// The type of the value under `key`; none if the structure does not know it.
    pub(crate) fn child(self, key: &str) -> Option<Ty<'s>> {
        match self.node() {
            Node::Struct { fields, preserve, .. } => match fields.get(key) {
                Some(field) => Some(self.sibling(field.node)),
                None => preserve.then(|| self.deduced()),
            },
            Node::Map { elem, .. } => Some(self.sibling(*elem)),
            Node::Deduced => Some(self),
            _ => None,
        }
    }

    /// The type of a list's items.
    pub(crate) fn elem(self) -> Ty<'s> {
        match self.node() {
            Node::List { elem, .. } | Node::Map { elem, .. } => self.sibling(*elem),
            _ => self.deduced(),
        }
    }

    /// How `value` is to be walked under this type.
    pub(crate) fn shape<'v>(self, value: &'v Value) -> Shape<'s, 'v> {
        match (self.node(), value) {
            (
                Node::Struct { atomic: false, .. } | Node::Map { atomic: false, .. } | Node::Deduced,
                Value::Object(m),
            ) => Shape::Map(m),
            (Node::List { kind, .. }, Value::Array(items)) if *kind != ListKind::Atomic => {
                Shape::Items(items, kind)
            }
            _ => Shape::Leaf,
        }
    }
}

/// How a value is walked.
pub(crate) enum Shape<'s, 'v> {
    /// Owned as a whole.
    Leaf,
    /// Field by field.
    Map(&'v serde_json::Map<String, Value>),
    /// Item by item, each found by its key.
    Items(&'v [Value], &'s ListKind),
}

/// The path element of a list's item in the form of `fieldsV1`: `k:{…}` or `v:…`; none if a key field is missing.
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
        let schema = Schema::builtin();
        for (name, id) in &schema.names {
            assert!(matches!(schema.at(*id).node(), Node::Struct { .. }), "{name} is used but not defined");
        }
    }

    #[test]
    fn a_port_is_found_by_its_number_and_the_protocol_it_stands_for() {
        let kind = ListKind::Keyed(vec![key_with_default("containerPort"), key_with_default("protocol=TCP")]);
        assert_eq!(
            item_key(&kind, &json!({"containerPort": 80})).as_deref(),
            Some(r#"k:{"containerPort":80,"protocol":"TCP"}"#)
        );
    }
}
