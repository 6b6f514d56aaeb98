//! Strict reading of input: a field that the type does not have is an error, with the nearest known name.
//!
//! serde ignores unknown fields, and stored data needs that: a row or a report of a later version stays readable. In the
//! input of a person or a program an unknown field is a typing error that changes the meaning: a predicate without its
//! misspelt selector selects every cluster. [`parse`] is the only way from a value that was sent to a type of the domain.

use std::cell::RefCell;
use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, MapAccessDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, forward_to_deserialize_any};
use serde_json::{Map, Value};

use crate::kubernetes::nearest::find_nearest;
use crate::text::null_character;

/// The most fields that one error lists.
const MAX_LISTED: usize = 5;
/// The most characters of an unknown name that a message repeats.
const MAX_NAME_CHARS: usize = 60;

/// A field of the input that can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidField {
    /// JSON pointer of the field, or of the map that contains an unknown field.
    pub path: String,
    /// What is wrong with it, in one sentence without a full stop.
    pub message: String,
}

impl fmt::Display for InvalidField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.path {
            "" => f.write_str(&self.message),
            path => write!(f, "{path}: {}", self.message),
        }
    }
}

/// The input does not have the form of the type: at least one field is unknown, missing or of another type.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", format_fields(.0))]
pub struct InvalidInput(pub Vec<InvalidField>);

fn format_fields(fields: &[InvalidField]) -> String {
    let listed: Vec<String> = fields.iter().take(MAX_LISTED).map(InvalidField::to_string).collect();
    let rest = fields.len().saturating_sub(MAX_LISTED);
    let rest = if rest == 0 { String::new() } else { format!("; and {rest} more") };
    listed.join("; ") + &rest
}

/// Reads a value that was sent.
///
/// # Errors
/// The first text or name with the character U+0000; without any, all unknown fields; without any, the first field that is missing or of
/// another type.
pub fn parse<T: DeserializeOwned>(value: &Value) -> Result<T, InvalidInput> {
    if let Some(found) = null_character::find_in(value) {
        let message = found.describe();
        return Err(InvalidInput(vec![InvalidField { path: found.path, message }]));
    }
    let unknown = RefCell::new(Vec::new());
    let parsed = T::deserialize(FieldReader { value, path: &ValuePath::Root, unknown: &unknown });
    let unknown = unknown.into_inner();
    if !unknown.is_empty() {
        return Err(InvalidInput(unknown));
    }
    parsed.map_err(|error| {
        InvalidInput(vec![InvalidField { path: error.path.unwrap_or_default(), message: error.message }])
    })
}

/// The position in the input, linked to that of the parent, so that a path is only written for an error.
enum ValuePath<'p> {
    Root,
    Key(&'p ValuePath<'p>, &'p str),
    Index(&'p ValuePath<'p>, usize),
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(parent, key) => {
                write!(f, "{parent}/{}", crate::kubernetes::field_path::escape_pointer_token(key))
            }
            Self::Index(parent, index) => write!(f, "{parent}/{index}"),
        }
    }
}

/// An error of serde, with the path of the innermost value that could not be read.
#[derive(Debug)]
struct ReadError {
    path: Option<String>,
    message: String,
}

impl ReadError {
    fn at(mut self, path: &ValuePath<'_>) -> Self {
        self.path.get_or_insert_with(|| path.to_string());
        self
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReadError {}

impl serde::de::Error for ReadError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: None, message: message.to_string() }
    }
}

/// Reads one value and records the unknown fields of every struct in it.
struct FieldReader<'de, 'p> {
    value: &'de Value,
    path: &'p ValuePath<'p>,
    unknown: &'p RefCell<Vec<InvalidField>>,
}

impl<'de, 'p> FieldReader<'de, 'p> {
    /// The entries of a map; with `known`, only those fields, and the others are recorded as unknown.
    fn read_map(
        &self,
        map: &'de Map<String, Value>,
        known: Option<&'static [&'static str]>,
    ) -> MapReader<'de, 'p> {
        let is_known = |key: &str| known.is_none_or(|known| known.contains(&key));
        let unknown = map.keys().filter(|key| !is_known(key));
        let path = self.path;
        self.unknown.borrow_mut().extend(unknown.map(|key| InvalidField {
            path: path.to_string(),
            message: describe_unknown(key, known.unwrap_or_default()),
        }));
        let entries = map.iter().map(|(key, value)| (key.as_str(), value)).filter(|(key, _)| is_known(key));
        let entries = entries.collect::<Vec<_>>().into_iter();
        MapReader { entries, pending: None, path, unknown: self.unknown }
    }
}

fn describe_unknown(key: &str, known: &[&str]) -> String {
    let shown: String = key.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
    let same = known.iter().find(|name| name.eq_ignore_ascii_case(key)).copied();
    match same.or_else(|| find_nearest(key, known.iter().copied())) {
        Some(near) => format!("unknown field {shown:?}, did you mean {near:?}?"),
        None if known.is_empty() => format!("unknown field {shown:?}, there are no fields here"),
        None => format!("unknown field {shown:?}, the fields are {}", known.join(", ")),
    }
}

impl<'de> Deserializer<'de> for FieldReader<'de, '_> {
    type Error = ReadError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        let read = match self.value {
            Value::Array(items) => visitor.visit_seq(SeqReader {
                items: items.iter().enumerate(),
                path: self.path,
                unknown: self.unknown,
            }),
            Value::Object(map) => visitor.visit_map(self.read_map(map, None)),
            scalar => scalar.deserialize_any(visitor).map_err(serde::de::Error::custom),
        };
        read.map_err(|error: ReadError| error.at(self.path))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ReadError> {
        if self.value.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        match self.value {
            Value::Object(map) => {
                visitor.visit_map(self.read_map(map, Some(fields))).map_err(|error| error.at(self.path))
            }
            // A struct as a list of its fields is a form of serde that no input has.
            Value::Array(_) => Err(serde::de::Error::invalid_type(serde::de::Unexpected::Seq, &visitor))
                .map_err(|error: ReadError| error.at(self.path)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ReadError> {
        let read = match self.value {
            Value::String(text) => {
                BorrowedStrDeserializer::new(text).deserialize_enum(name, variants, visitor)
            }
            Value::Object(map) => {
                MapAccessDeserializer::new(self.read_map(map, None)).deserialize_enum(name, variants, visitor)
            }
            other => other.deserialize_enum(name, variants, visitor).map_err(serde::de::Error::custom),
        };
        read.map_err(|error: ReadError| error.at(self.path))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map identifier ignored_any
    }
}

struct MapReader<'de, 'p> {
    entries: std::vec::IntoIter<(&'de str, &'de Value)>,
    pending: Option<(&'de str, &'de Value)>,
    path: &'p ValuePath<'p>,
    unknown: &'p RefCell<Vec<InvalidField>>,
}

impl<'de> MapAccess<'de> for MapReader<'de, '_> {
    type Error = ReadError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ReadError> {
        self.pending = self.entries.next();
        let Some((key, _)) = self.pending else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(key)).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, ReadError> {
        let (key, value) = self
            .pending
            .take()
            .ok_or_else(|| <ReadError as serde::de::Error>::custom("a value was read before its key"))?;
        let path = ValuePath::Key(self.path, key);
        seed.deserialize(FieldReader { value, path: &path, unknown: self.unknown })
    }
}

struct SeqReader<'de, 'p> {
    items: std::iter::Enumerate<std::slice::Iter<'de, Value>>,
    path: &'p ValuePath<'p>,
    unknown: &'p RefCell<Vec<InvalidField>>,
}

impl<'de> SeqAccess<'de> for SeqReader<'de, '_> {
    type Error = ReadError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ReadError> {
        let Some((index, value)) = self.items.next() else { return Ok(None) };
        let path = ValuePath::Index(self.path, index);
        seed.deserialize(FieldReader { value, path: &path, unknown: self.unknown }).map(Some)
    }
}

/// A JSON value in which every map has unique keys; serde_json alone would take the last of two equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKeysValue(pub Value);

impl<'de> Deserialize<'de> for UniqueKeysValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueKeysVisitor).map(Self)
    }
}

struct UniqueKeysVisitor;

impl<'de> Visitor<'de> for UniqueKeysVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(UniqueKeysValue(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if map.contains_key(&key) {
                let shown: String = key.chars().take(MAX_NAME_CHARS).collect();
                return Err(serde::de::Error::custom(format!("the field {shown:?} is set twice")));
            }
            let UniqueKeysValue(value) = entries.next_value()?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::overrides::Patch;
    use crate::model::placement::{ClusterGroup, Placement};
    use crate::model::workload::WorkloadSpec;

    fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
        parse(value).map_err(|error| error.to_string())
    }

    #[test]
    fn a_misspelt_field_is_rejected_with_its_path_and_the_nearest_name() {
        let message =
            |predicate: Value| read::<Placement>(&json!({ "predicates": [predicate] })).unwrap_err();
        assert_eq!(
            message(json!({"labelselector": "env=prod"})),
            r#"/predicates/0: unknown field "labelselector", did you mean "labelSelector"?"#
        );
        assert_eq!(
            message(json!({"selector": "env=prod"})),
            r#"/predicates/0: unknown field "selector", the fields are names, groups, labelSelector, fieldSelector"#
        );
        assert_eq!(
            message(json!({"name": "eu-1"})),
            r#"/predicates/0: unknown field "name", did you mean "names"?"#
        );
        let group = read::<ClusterGroup>(&json!({"name": "eu", "selektor": "region=eu"})).unwrap_err();
        assert_eq!(group, r#"unknown field "selektor", did you mean "selector"?"#);
    }

    #[test]
    fn fields_inside_of_policies_patches_and_sources_are_checked_too() {
        let spec = json!({
            "namespace": "web",
            "source": {"type": "yaml", "files": [{"name": "a.yaml", "text": "", "txt": ""}], "file": 1},
            "policies": {"deletoin": "orphan", "update": [{"object": {"kin": "Job"}, "strategy": "createOnly"}]},
            "overrides": [{"id": "01J00000000000000000000000", "name": "eu", "patches": [
                {"object": {"kin": "Deployment"}, "op": "set", "path": "/spec/replicas", "value": 2, "vlaue": 3}
            ]}],
        });
        let InvalidInput(fields) = parse::<WorkloadSpec>(&spec).unwrap_err();
        let paths: Vec<&str> = fields.iter().map(|field| field.path.as_str()).collect();
        let expected = [
            "/source",
            "/source/files/0",
            "/overrides/0/patches/0",
            "/overrides/0/patches/0/object",
            "/policies",
            "/policies/update/0/object",
        ];
        assert!(
            expected.iter().all(|path| paths.contains(path)) && paths.len() == expected.len(),
            "{fields:?}"
        );
    }

    #[test]
    fn a_wrong_type_is_reported_at_its_path_and_values_are_free_of_fields() {
        assert_eq!(
            read::<Placement>(&json!({"predicates": [{"names": "eu-1"}]})).unwrap_err(),
            r#"/predicates/0/names: invalid type: string "eu-1", expected a sequence"#
        );
        assert!(read::<Placement>(&json!(["eu-1"])).unwrap_err().contains("invalid type"));
        let patch = json!({"op": "merge", "value": {"any": {"field": [1, null]}}});
        assert_eq!(serde_json::to_value(read::<Patch>(&patch).unwrap()).unwrap()["value"], patch["value"]);
    }

    #[test]
    fn a_stored_value_of_a_later_version_is_readable() {
        let stored = json!({"predicates": [{"names": ["eu-1"], "later": true}], "later": {}});
        assert_eq!(serde_json::from_value::<Placement>(stored).unwrap().predicates[0].names, ["eu-1"]);
    }

    #[test]
    fn a_field_that_is_set_twice_is_rejected() {
        let read = |text: &str| serde_json::from_str::<UniqueKeysValue>(text);
        let twice = read(r#"{"a": [{"b": 1, "b": 2}]}"#).unwrap_err().to_string();
        assert!(twice.starts_with(r#"the field "b" is set twice at line 1"#), "{twice}");
        let text = r#"{"a":[null,true,-1,2,0.5,"x",{}]}"#;
        assert_eq!(read(text).unwrap().0.to_string(), text);
    }
}
