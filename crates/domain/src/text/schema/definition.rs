//! Custom kinds: the structural schema of a CustomResourceDefinition.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{KindKey, ListType, ObjectField, ObjectType, ValueType};

/// The kinds that a CustomResourceDefinition serves, with their types; `metadata` is the type of that field. Versions
/// without a schema are omitted.
pub(crate) fn parse_definition(definition: &Value, metadata: &ValueType) -> Vec<(KindKey, ValueType)> {
    let spec = &definition["spec"];
    let (group, kind) = (spec["group"].as_str(), spec["names"]["kind"].as_str());
    let is_definition = definition["kind"] == "CustomResourceDefinition";
    let (Some(group), Some(kind), true) = (group, kind, is_definition) else { return Vec::new() };
    // Only v1beta1 has this field and a schema common to all versions.
    if spec["preserveUnknownFields"] == true {
        return Vec::new();
    }
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] != false);
    let typed = served.filter_map(|version| {
        let name = version["name"].as_str()?;
        let schema = Some(&version["schema"]["openAPIV3Schema"]).filter(|schema| schema.is_object())?;
        Some(((group.to_owned(), name.to_owned(), kind.to_owned()), root_type(schema, metadata)))
    });
    typed.collect()
}

/// The type of a kind's objects. Every object has `apiVersion`, `kind` and `metadata`, whatever its schema; `status` is
/// written by the cluster and not checked.
pub(super) fn root_type(schema: &Value, metadata: &ValueType) -> ValueType {
    let mut of = type_of(schema);
    if let ValueType::Object(object) = &mut of {
        let optional = |of: ValueType| ObjectField { value_type: of, required: false };
        object.fields.insert("apiVersion".to_owned(), optional(ValueType::Text));
        object.fields.insert("kind".to_owned(), optional(ValueType::Text));
        object.fields.insert("metadata".to_owned(), optional(metadata.clone()));
        object.fields.insert("status".to_owned(), optional(ValueType::Any));
    }
    of
}

fn type_of(schema: &Value) -> ValueType {
    if schema["x-kubernetes-int-or-string"] == true {
        return ValueType::IntegerOrText;
    }
    match schema["type"].as_str() {
        Some("string") => text_type(schema),
        Some("boolean") => ValueType::Boolean,
        Some("integer") if schema["format"] == "int32" => ValueType::Int32,
        Some("integer") => ValueType::Integer,
        Some("number") => ValueType::Number,
        Some("array") => list_type(schema),
        Some("object") => object_type(schema),
        _ => ValueType::Any,
    }
}

fn text_type(schema: &Value) -> ValueType {
    let words: Option<Vec<String>> = schema["enum"]
        .as_array()
        .and_then(|all| all.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    words.map_or(ValueType::Text, ValueType::Enum)
}

fn list_type(schema: &Value) -> ValueType {
    let names =
        schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let default = |name: &str| schema["items"]["properties"][name]["default"].as_str().map(str::to_owned);
    let keys = names
        .filter(|_| schema["x-kubernetes-list-type"] == "map")
        .map(|name| (name.to_owned(), default(name)))
        .collect();
    ValueType::List(Box::new(ListType { item: type_of(&schema["items"]), keys }))
}

fn object_type(schema: &Value) -> ValueType {
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let embedded = schema["x-kubernetes-embedded-resource"] == true;
    let properties = schema["properties"].as_object();
    match &schema["additionalProperties"] {
        Value::Bool(true) => return ValueType::Any,
        other @ Value::Object(_) if properties.is_none_or(serde_json::Map::is_empty) => {
            return ValueType::Map(Box::new(type_of(other)));
        }
        _ => {}
    }
    if properties.is_none() && open {
        return ValueType::Any;
    }
    let required = schema["required"].as_array();
    let mut fields = BTreeMap::new();
    for (name, property) in properties.into_iter().flatten() {
        let is_listed = required.is_some_and(|names| names.iter().any(|other| other == name));
        // The server fills in defaults before it checks required fields.
        let required = is_listed && property["default"].is_null();
        fields.insert(name.clone(), ObjectField { value_type: type_of(property), required });
    }
    if embedded {
        for name in ["apiVersion", "kind", "metadata"] {
            fields
                .entry(name.to_owned())
                .or_insert(ObjectField { value_type: ValueType::Any, required: false });
        }
    }
    ValueType::Object(ObjectType { fields, allows_unknown: open })
}
