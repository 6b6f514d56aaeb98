//! Strict reading of input: a field that the type does not have is an error, with the nearest known name.
//!
//! serde ignores unknown fields, and stored data needs that: a row or a report of a later version stays readable. In the
//! input of a person or a program an unknown field is a typing error that changes the meaning: a predicate without its
//! misspelt selector selects every cluster. [`parse`] is the only way from a value that was sent to a type of the domain.

use std::cell::{Cell, RefCell};
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
/// The most characters of a path that an error repeats: a key may be as long as the input.
const MAX_PATH_CHARS: usize = 1_000;
/// The most values of one input, maps and lists counted too. Each needs many times the memory of its text.
const MAX_VALUES: usize = 500_000;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidInput {
    /// The first ones.
    pub fields: Vec<InvalidField>,
    /// How many others there are.
    pub more: usize,
}

impl InvalidInput {
    fn of_field(path: String, message: String) -> Self {
        Self { fields: vec![InvalidField { path, message }], more: 0 }
    }
}

impl fmt::Display for InvalidInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed: Vec<String> = self.fields.iter().map(InvalidField::to_string).collect();
        f.write_str(&listed.join("; "))?;
        if self.more == 0 { Ok(()) } else { write!(f, "; and {} more", self.more) }
    }
}

impl std::error::Error for InvalidInput {}

/// The unknown fields of an input: the first ones, and the number of the others. An input can have as many of them as values.
#[derive(Debug, Default)]
struct UnknownFields {
    listed: Vec<InvalidField>,
    more: usize,
}

impl UnknownFields {
    fn add(&mut self, path: &ValuePath<'_>, key: &str, known: &[&str]) {
        if self.listed.len() < MAX_LISTED {
            self.listed.push(InvalidField { path: path.shorten(), message: describe_unknown(key, known) });
        } else {
            self.more += 1;
        }
    }
}

/// Reads a value that was sent.
///
/// # Errors
/// The first text or name with the character U+0000; without any, the unknown fields; without any, the first field that is missing or of
/// another type.
pub fn parse<T: DeserializeOwned>(value: &Value) -> Result<T, InvalidInput> {
    if let Some(found) = null_character::find_in(value) {
        let message = found.describe();
        return Err(InvalidInput::of_field(found.path, message));
    }
    let unknown = RefCell::new(UnknownFields::default());
    let parsed = T::deserialize(FieldReader { value, path: &ValuePath::Root, unknown: &unknown });
    let UnknownFields { listed, more } = unknown.into_inner();
    if !listed.is_empty() {
        return Err(InvalidInput { fields: listed, more });
    }
    parsed.map_err(|error| InvalidInput::of_field(error.path.unwrap_or_default(), error.message))
}

/// The position in the input, linked to that of the parent, so that a path is only written for an error.
enum ValuePath<'p> {
    Root,
    Key(&'p ValuePath<'p>, &'p str),
    Index(&'p ValuePath<'p>, usize),
}

impl ValuePath<'_> {
    /// The path, or its beginning if it is long.
    fn shorten(&self) -> String {
        let path = self.to_string();
        let end = path.char_indices().map(|(start, _)| start).nth(MAX_PATH_CHARS);
        match end {
            Some(end) => format!("{}…", &path[..end]),
            None => path,
        }
    }
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
        self.path.get_or_insert_with(|| path.shorten());
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
    unknown: &'p RefCell<UnknownFields>,
}

impl<'de, 'p> FieldReader<'de, 'p> {
    /// The entries of a map; with `known`, only those fields, and the others are recorded as unknown.
    fn read_map(
        &self,
        map: &'de Map<String, Value>,
        known: Option<&'static [&'static str]>,
    ) -> MapReader<'de, 'p> {
        let is_known = |key: &str| known.is_none_or(|known| known.contains(&key));
        let path = self.path;
        let mut unknown = self.unknown.borrow_mut();
        for key in map.keys().filter(|key| !is_known(key)) {
            unknown.add(path, key, known.unwrap_or_default());
        }
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
    unknown: &'p RefCell<UnknownFields>,
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
    unknown: &'p RefCell<UnknownFields>,
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
/// It has at most 500 000 values: each needs many times the memory of its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UniqueKeysValue(pub Value);

impl<'de> Deserialize<'de> for UniqueKeysValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        UniqueKeysReader { values: &Cell::new(0) }.deserialize(deserializer).map(Self)
    }
}

/// Reads one value and counts it.
#[derive(Clone, Copy)]
struct UniqueKeysReader<'c> {
    /// The values until now.
    values: &'c Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for UniqueKeysReader<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.values.set(self.values.get() + 1);
        if self.values.get() > MAX_VALUES {
            let message = format!("it has more than {MAX_VALUES} values; send less, or split it");
            return Err(serde::de::Error::custom(message));
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeysReader<'_> {
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
        while let Some(item) = items.next_element_seed(self)? {
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
            let value = entries.next_value_seed(self)?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests;
