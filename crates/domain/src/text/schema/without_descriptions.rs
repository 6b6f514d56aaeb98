//! JSON values of OpenAPI documents, which are mostly descriptions.

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// The number of values in a value, itself included.
pub(super) fn count_parsed(value: &Value) -> u64 {
    1 + match value {
        Value::Array(items) => items.iter().map(count_parsed).sum::<u64>(),
        Value::Object(fields) => fields.values().map(count_parsed).sum::<u64>(),
        _ => 0,
    }
}

/// A JSON value without descriptions, which are most of these documents.
pub(super) struct WithoutDescriptions(pub(super) Value);

impl<'de> Deserialize<'de> for WithoutDescriptions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WithoutDescriptionsVisitor).map(Self)
    }
}

struct WithoutDescriptionsVisitor;

impl<'de> Visitor<'de> for WithoutDescriptionsVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(WithoutDescriptions(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut fields = serde_json::Map::new();
        while let Some((name, WithoutDescriptions(value))) =
            access.next_entry::<String, WithoutDescriptions>()?
        {
            // A field named `description` has a schema as its value, not a text.
            if name != "description" || !value.is_string() {
                fields.insert(name, value);
            }
        }
        Ok(Value::Object(fields))
    }
}
