//! The types of a custom resource, from the `openAPIV3Schema` of its definition.

use serde_json::{Map, Value};

use super::{Field, ListKind, Node, NodeId, Scalar, Schema};

/// Depth at which a definition's schema is cut: deeper values are kept as they come.
const MAX_DEPTH: usize = 64;

/// A schema whose root is the custom resource itself.
pub(crate) fn build(open_api: &Value) -> (Schema, NodeId) {
    let mut schema = Schema::metadata_only();
    let root = node(&mut schema, open_api, 0);
    let metadata = schema.lookup("meta.ObjectMeta");
    let text = schema.add(Node::Scalar(Scalar::Text));
    if let Some(Node::Struct { fields, .. }) = schema.nodes.get_mut(root as usize) {
        let field = |node| Field { node, required: false, by_value: true, default: None };
        fields.insert("apiVersion".into(), field(text));
        fields.insert("kind".into(), field(text));
        if let Some(metadata) = metadata {
            fields.insert("metadata".into(), field(metadata));
        }
        return (schema, root);
    }
    // A definition without any schema keeps everything.
    let id = schema.add(Node::Struct {
        name: "".into(),
        fields: [("metadata", metadata), ("apiVersion", Some(text)), ("kind", Some(text))]
            .into_iter()
            .filter_map(|(k, id)| {
                Some((k.into(), Field { node: id?, required: false, by_value: true, default: None }))
            })
            .collect(),
        atomic: false,
        preserve: true,
    });
    (schema, id)
}

fn flag(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn node(schema: &mut Schema, open_api: &Value, depth: usize) -> NodeId {
    let Some(map) = open_api.as_object().filter(|_| depth < MAX_DEPTH) else {
        return schema.add(Node::Deduced);
    };
    if flag(map, "x-kubernetes-int-or-string") {
        return schema.add(Node::Scalar(Scalar::IntOrText));
    }
    let built = match map.get("type").and_then(Value::as_str) {
        Some("string") => Node::Scalar(Scalar::Text),
        Some("integer") => Node::Scalar(Scalar::Int),
        Some("number") => Node::Scalar(Scalar::Number),
        Some("boolean") => Node::Scalar(Scalar::Bool),
        Some("array") => list(schema, map, depth),
        Some("object") => object(schema, map, depth),
        _ => Node::Deduced,
    };
    schema.add(built)
}

fn list(schema: &mut Schema, map: &Map<String, Value>, depth: usize) -> Node {
    let elem = node(schema, map.get("items").unwrap_or(&Value::Null), depth + 1);
    let kind = match map.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys = map.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            let keys = keys.into_iter().flatten().filter_map(Value::as_str);
            let default = |key: &str| map.get("items")?.get("properties")?.get(key)?.get("default").cloned();
            ListKind::Keyed(keys.map(|k| (k.into(), default(k))).collect())
        }
        _ => ListKind::Atomic,
    };
    Node::List { elem, kind }
}

fn object(schema: &mut Schema, map: &Map<String, Value>, depth: usize) -> Node {
    let atomic = map.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    let embedded = flag(map, "x-kubernetes-embedded-resource");
    let preserve = flag(map, "x-kubernetes-preserve-unknown-fields") || embedded;
    let Some(properties) = map.get("properties").and_then(Value::as_object) else {
        return match map.get("additionalProperties") {
            Some(Value::Bool(true)) => Node::Deduced,
            Some(elem @ Value::Object(_)) => Node::Map { elem: node(schema, elem, depth + 1), atomic },
            _ if preserve => Node::Deduced,
            _ => Node::Struct { name: "".into(), fields: Default::default(), atomic, preserve },
        };
    };
    let required: Vec<&str> = map
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = properties
        .iter()
        .map(|(key, value)| {
            let field = Field {
                node: node(schema, value, depth + 1),
                required: required.contains(&key.as_str()),
                by_value: false,
                default: value.get("default").cloned(),
            };
            (key.as_str().into(), field)
        })
        .collect();
    Node::Struct { name: "".into(), fields, atomic, preserve }
}
