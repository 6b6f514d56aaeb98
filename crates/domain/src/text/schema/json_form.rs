//! The JSON form of a schema: readable, and one type per line, so that a new Kubernetes version gives a small diff.
//!
//! ```json
//! {"minor":36,
//! "kinds":{"apps/v1/Deployment":12},
//! "shared":[
//! {"name!":"text","replicas":"int32","ports":[7,"port","protocol=TCP"],"labels":{"*":"text"},"policy":"|Always|Never"}
//! ]}
//! ```
//!
//! A type is a name; a number, which is an index into `shared`; a text of values, each after a `|`, for an enumeration; a
//! list with the type of its items and their key fields; `{"*": type}` for a map with any key; else a map of fields, where
//! `!` after the name marks a required one and `"...": "any"` allows unknown ones.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use super::memory::{MAX_MEMORY_BYTES, estimate_memory};
use super::{KindKey, ListType, ObjectField, ObjectType, Schema, ValueType};

/// Maximum size of a schema in its JSON form, in bytes: many times the size of Kubernetes' own kinds.
pub const MAX_BYTES: usize = 2 << 20;

/// Names of types without parameters.
const TYPE_NAMES: [(&str, ValueType); 9] = [
    ("any", ValueType::Any),
    ("text", ValueType::Text),
    ("base64", ValueType::Base64),
    ("bool", ValueType::Boolean),
    ("int32", ValueType::Int32),
    ("int", ValueType::Integer),
    ("number", ValueType::Number),
    ("intOrText", ValueType::IntegerOrText),
    ("quantity", ValueType::Quantity),
];
/// The key of a map with any key.
const ANY_KEY: &str = "*";
/// The key of an object that allows unknown fields.
const UNKNOWN_FIELDS: &str = "...";

/// Error: the text is not a schema in its JSON form.
#[derive(Debug, thiserror::Error)]
#[error("this is not a schema: {0}")]
pub struct InvalidSchema(String);

impl InvalidSchema {
    pub(super) fn from_json_error(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }

    pub(super) const fn new(message: String) -> Self {
        Self(message)
    }
}

#[derive(serde::Deserialize)]
struct SchemaJson {
    minor: u32,
    kinds: BTreeMap<String, ValueType>,
    shared: Vec<ValueType>,
}

impl Schema {
    /// Parses a schema from its JSON form.
    ///
    /// # Errors
    /// It is longer than [`MAX_BYTES`], needs more than [`MAX_MEMORY_BYTES`], is not of this form, or refers to a type that does not exist.
    pub fn from_json(bytes: &[u8]) -> Result<Self, InvalidSchema> {
        if bytes.len() > MAX_BYTES {
            return Err(InvalidSchema(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let needed = estimate_memory(bytes);
        if needed > MAX_MEMORY_BYTES {
            let (needed, allowed) = (needed >> 20, MAX_MEMORY_BYTES >> 20);
            return Err(InvalidSchema(format!(
                "it needs {needed} MiB of memory, and at most {allowed} MiB are read"
            )));
        }
        let written: SchemaJson = serde_json::from_slice(bytes).map_err(InvalidSchema::from_json_error)?;
        let all = written.shared.iter().chain(written.kinds.values());
        if !all.into_iter().all(|of| has_valid_references(of, written.shared.len())) {
            return Err(InvalidSchema("it refers to a type that does not exist".to_owned()));
        }
        if written.shared.iter().any(|of| matches!(of, ValueType::Shared(_))) {
            return Err(InvalidSchema("a shared type is a reference to another one".to_owned()));
        }
        let mut kinds = BTreeMap::new();
        for (name, of) in written.kinds {
            let kind = parse_kind(&name).ok_or_else(|| InvalidSchema(format!("{name:?} is not a kind")))?;
            kinds.insert(kind, of);
        }
        Ok(Self { minor: written.minor, kinds, shared: written.shared })
    }

    /// The JSON form.
    pub fn to_json(&self) -> String {
        let mut text = format!("{{\"minor\":{},\n\"kinds\":{{", self.minor);
        let json = |of: &ValueType| serde_json::to_string(of).unwrap_or_default();
        for (at, ((group, version, kind), of)) in self.kinds.iter().enumerate() {
            let separator = if at == 0 { "\n" } else { ",\n" };
            let slash = if group.is_empty() { "" } else { "/" };
            // Writing to a String cannot fail.
            let _ = write!(text, "{separator}\"{group}{slash}{version}/{kind}\":{}", json(of));
        }
        text.push_str("},\n\"shared\":[");
        for (at, of) in self.shared.iter().enumerate() {
            let separator = if at == 0 { "\n" } else { ",\n" };
            let _ = write!(text, "{separator}{}", json(of));
        }
        text.push_str("\n]}\n");
        text
    }
}

/// Parses `apps/v1/Deployment` or `v1/PodTemplate`.
fn parse_kind(name: &str) -> Option<KindKey> {
    let (version, kind) = name.rsplit_once('/')?;
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    Some((group.to_owned(), version.to_owned(), kind.to_owned()))
}

/// Whether every reference in a type is an index below `shared`, the number of shared types.
fn has_valid_references(of: &ValueType, shared: usize) -> bool {
    match of {
        ValueType::Shared(at) => *at < shared,
        ValueType::List(list) => has_valid_references(&list.item, shared),
        ValueType::Map(of) => has_valid_references(of, shared),
        ValueType::Object(object) => {
            object.fields.values().all(|field| has_valid_references(&field.value_type, shared))
        }
        _ => true,
    }
}

impl Serialize for ValueType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Shared(at) => serializer.serialize_u64(*at as u64),
            Self::Enum(words) => serializer.serialize_str(&format!("|{}", words.join("|"))),
            Self::List(list) => {
                let mut items = serializer.serialize_seq(Some(1 + list.keys.len()))?;
                items.serialize_element(&list.item)?;
                for (key, default) in &list.keys {
                    let default = default.as_ref().map(|default| format!("={default}")).unwrap_or_default();
                    items.serialize_element(&format!("{key}{default}"))?;
                }
                items.end()
            }
            Self::Map(of) => {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry(ANY_KEY, of)?;
                map.end()
            }
            Self::Object(object) => {
                let mut map = serializer.serialize_map(None)?;
                for (name, field) in &object.fields {
                    let required = if field.required { "!" } else { "" };
                    map.serialize_entry(&format!("{name}{required}"), &field.value_type)?;
                }
                if object.allows_unknown {
                    map.serialize_entry(UNKNOWN_FIELDS, &Self::Any)?;
                }
                map.end()
            }
            simple => {
                let name = TYPE_NAMES.iter().find(|(_, of)| of == simple).map_or("any", |(name, _)| name);
                serializer.serialize_str(name)
            }
        }
    }
}

impl<'de> Deserialize<'de> for ValueType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TypeVisitor)
    }
}

struct TypeVisitor;

impl<'de> Visitor<'de> for TypeVisitor {
    type Value = ValueType;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a type")
    }

    fn visit_u64<E: serde::de::Error>(self, at: u64) -> Result<ValueType, E> {
        usize::try_from(at).map(ValueType::Shared).map_err(E::custom)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<ValueType, E> {
        if let Some(words) = text.strip_prefix('|') {
            return Ok(ValueType::Enum(words.split('|').map(str::to_owned).collect()));
        }
        let known = TYPE_NAMES.into_iter().find(|(word, _)| *word == text);
        known.map(|(_, of)| of).ok_or_else(|| E::custom(format!("{text:?} is not a type")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<ValueType, A::Error> {
        let item =
            access.next_element()?.ok_or_else(|| A::Error::custom("a list needs the type of its items"))?;
        let mut keys = Vec::new();
        while let Some(key) = access.next_element::<String>()? {
            keys.push(match key.split_once('=') {
                Some((key, default)) => (key.to_owned(), Some(default.to_owned())),
                None => (key, None),
            });
        }
        Ok(ValueType::List(Box::new(ListType { item, keys })))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<ValueType, A::Error> {
        let mut object = ObjectType::default();
        while let Some((name, of)) = access.next_entry::<String, ValueType>()? {
            match name.as_str() {
                ANY_KEY => return expect_end(access, ValueType::Map(Box::new(of))),
                UNKNOWN_FIELDS => object.allows_unknown = true,
                _ => {
                    let required = name.ends_with('!');
                    let name = name.trim_end_matches('!').to_owned();
                    object.fields.insert(name, ObjectField { value_type: of, required });
                }
            }
        }
        Ok(ValueType::Object(object))
    }
}

/// Checks that the map has no further entries.
fn expect_end<'de, A: MapAccess<'de>>(mut access: A, of: ValueType) -> Result<ValueType, A::Error> {
    match access.next_entry::<String, ValueType>()? {
        None => Ok(of),
        Some(_) => Err(A::Error::custom("a map with any key has no other entries")),
    }
}
