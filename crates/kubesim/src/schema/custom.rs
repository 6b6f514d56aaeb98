//! The types of a custom resource, from the `openAPIV3Schema` of its definition.

use serde_json::{Map, Value};

use super::{ListKind, NodeId, Scalar, SchemaField, SchemaNode, TypeSchema};

/// Depth limit of a definition's schema: deeper values are stored unchecked.
const MAX_DEPTH: usize = 64;

/// A schema whose root is the custom resource itself.
pub(crate) fn build_schema(open_api: &Value) -> (TypeSchema, NodeId) {
    let mut schema = TypeSchema::metadata_only();
    let root = add_type(&mut schema, open_api, 0);
    let metadata = schema.lookup("meta.ObjectMeta");
    let text = schema.add_node(SchemaNode::Scalar(Scalar::Text));
    if let Some(SchemaNode::Struct { fields, .. }) = schema.nodes.get_mut(root as usize) {
        let field = |node| SchemaField { node, required: false, by_value: true, default: None };
        fields.insert("apiVersion".into(), field(text));
        fields.insert("kind".into(), field(text));
        if let Some(metadata) = metadata {
            fields.insert("metadata".into(), field(metadata));
        }
        return (schema, root);
    }
    // A definition without a schema preserves all fields.
    let id = schema.add_node(SchemaNode::Struct {
        name: "".into(),
        fields: [("metadata", metadata), ("apiVersion", Some(text)), ("kind", Some(text))]
            .into_iter()
            .filter_map(|(k, id)| {
                Some((k.into(), SchemaField { node: id?, required: false, by_value: true, default: None }))
            })
            .collect(),
        atomic: false,
        preserve: true,
    });
    (schema, id)
}

fn bool_field(map: &Map<String, Value>, key: &str) -> bool {
    map.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn add_type(schema: &mut TypeSchema, open_api: &Value, depth: usize) -> NodeId {
    let Some(map) = open_api.as_object().filter(|_| depth < MAX_DEPTH) else {
        return schema.add_node(SchemaNode::Deduced);
    };
    if bool_field(map, "x-kubernetes-int-or-string") {
        return schema.add_node(SchemaNode::Scalar(Scalar::IntOrText));
    }
    let built = match map.get("type").and_then(Value::as_str) {
        Some("string") => SchemaNode::Scalar(Scalar::Text),
        Some("integer") => SchemaNode::Scalar(Scalar::Int),
        Some("number") => SchemaNode::Scalar(Scalar::Number),
        Some("boolean") => SchemaNode::Scalar(Scalar::Bool),
        Some("array") => list_node(schema, map, depth),
        Some("object") => object_node(schema, map, depth),
        _ => SchemaNode::Deduced,
    };
    schema.add_node(built)
}

fn list_node(schema: &mut TypeSchema, map: &Map<String, Value>, depth: usize) -> SchemaNode {
    let elem = add_type(schema, map.get("items").unwrap_or(&Value::Null), depth + 1);
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
    SchemaNode::List { elem, kind }
}

fn object_node(schema: &mut TypeSchema, map: &Map<String, Value>, depth: usize) -> SchemaNode {
    let atomic = map.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    let embedded = bool_field(map, "x-kubernetes-embedded-resource");
    let preserve = bool_field(map, "x-kubernetes-preserve-unknown-fields") || embedded;
    let Some(properties) = map.get("properties").and_then(Value::as_object) else {
        return match map.get("additionalProperties") {
            Some(Value::Bool(true)) => SchemaNode::Deduced,
            Some(elem @ Value::Object(_)) => {
                SchemaNode::Map { elem: add_type(schema, elem, depth + 1), atomic }
            }
            _ if preserve => SchemaNode::Deduced,
            _ => SchemaNode::Struct { name: "".into(), fields: Default::default(), atomic, preserve },
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
            let field = SchemaField {
                node: add_type(schema, value, depth + 1),
                required: required.contains(&key.as_str()),
                by_value: false,
                default: value.get("default").cloned(),
            };
            (key.as_str().into(), field)
        })
        .collect();
    SchemaNode::Struct { name: "".into(), fields, atomic, preserve }
}
