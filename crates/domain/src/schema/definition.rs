//! Custom kinds: the structural schema in a CustomResourceDefinition.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Field, KindName, List, Object, Type};

/// The kinds that a CustomResourceDefinition serves, with their types; `metadata` is the type of that field. A version
/// without a schema is left out: nothing is known of it.
pub(crate) fn defined(definition: &Value, metadata: &Type) -> Vec<(KindName, Type)> {
    let spec = &definition["spec"];
    let (group, kind) = (spec["group"].as_str(), spec["names"]["kind"].as_str());
    let is_definition = definition["kind"] == "CustomResourceDefinition";
    let (Some(group), Some(kind), true) = (group, kind, is_definition) else { return Vec::new() };
    // Only the form before v1 could keep all unknown fields, and only it had one schema for all versions.
    if spec["preserveUnknownFields"] == true {
        return Vec::new();
    }
    let versions = spec["versions"].as_array().into_iter().flatten();
    let served = versions.filter(|version| version["served"] != false);
    let typed = served.filter_map(|version| {
        let name = version["name"].as_str()?;
        let schema = Some(&version["schema"]["openAPIV3Schema"]).filter(|schema| schema.is_object())?;
        Some(((group.to_owned(), name.to_owned(), kind.to_owned()), root(schema, metadata)))
    });
    typed.collect()
}

/// Every object has these, whatever its schema says; what a cluster writes into `status` is left out.
pub(super) fn root(schema: &Value, metadata: &Type) -> Type {
    let mut of = type_of(schema);
    if let Type::Object(object) = &mut of {
        let optional = |of: Type| Field { of, required: false };
        object.fields.insert("apiVersion".to_owned(), optional(Type::Text));
        object.fields.insert("kind".to_owned(), optional(Type::Text));
        object.fields.insert("metadata".to_owned(), optional(metadata.clone()));
        object.fields.insert("status".to_owned(), optional(Type::Any));
    }
    of
}

fn type_of(schema: &Value) -> Type {
    if schema["x-kubernetes-int-or-string"] == true {
        return Type::IntegerOrText;
    }
    match schema["type"].as_str() {
        Some("string") => text(schema),
        Some("boolean") => Type::Boolean,
        Some("integer") if schema["format"] == "int32" => Type::Int32,
        Some("integer") => Type::Integer,
        Some("number") => Type::Number,
        Some("array") => list(schema),
        Some("object") => object(schema),
        _ => Type::Any,
    }
}

fn text(schema: &Value) -> Type {
    let words: Option<Vec<String>> = schema["enum"]
        .as_array()
        .and_then(|all| all.iter().map(|word| word.as_str().map(str::to_owned)).collect());
    words.map_or(Type::Text, Type::OneOf)
}

fn list(schema: &Value) -> Type {
    let names =
        schema["x-kubernetes-list-map-keys"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let default = |name: &str| schema["items"]["properties"][name]["default"].as_str().map(str::to_owned);
    let keys = names
        .filter(|_| schema["x-kubernetes-list-type"] == "map")
        .map(|name| (name.to_owned(), default(name)))
        .collect();
    Type::List(Box::new(List { item: type_of(&schema["items"]), keys }))
}

fn object(schema: &Value) -> Type {
    let open = schema["x-kubernetes-preserve-unknown-fields"] == true;
    let embedded = schema["x-kubernetes-embedded-resource"] == true;
    let properties = schema["properties"].as_object();
    match &schema["additionalProperties"] {
        Value::Bool(true) => return Type::Any,
        other @ Value::Object(_) if properties.is_none_or(serde_json::Map::is_empty) => {
            return Type::Map(Box::new(type_of(other)));
        }
        _ => {}
    }
    if properties.is_none() && open {
        return Type::Any;
    }
    let required = schema["required"].as_array();
    let mut fields = BTreeMap::new();
    for (name, property) in properties.into_iter().flatten() {
        let called = required.is_some_and(|names| names.iter().any(|other| other == name));
        // A default is filled in before anything is asked for.
        let required = called && property["default"].is_null();
        fields.insert(name.clone(), Field { of: type_of(property), required });
    }
    if embedded {
        for name in ["apiVersion", "kind", "metadata"] {
            fields.entry(name.to_owned()).or_insert(Field { of: Type::Any, required: false });
        }
    }
    Type::Object(Object { fields, open })
}
