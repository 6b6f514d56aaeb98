//! The written form of a schema: JSON that a person can read and that a new version of Kubernetes changes line by line.
//!
//! ```json
//! {"minor":36,
//! "kinds":{"apps/v1/Deployment":12},
//! "shared":[
//! {"name!":"text","replicas":"int32","ports":[7,"port","protocol=TCP"],"labels":{"*":"text"},"policy":"|Always|Never"}
//! ]}
//! ```
//!
//! A type is a word; a number, which counts into `shared`; a text of words after bars, for an enumeration; a list with
//! the type of its items and the fields that tell them apart; `{"*": type}` for a map with any key; else a map of
//! fields, those that are required with `!` behind their name, and with `"...": "any"` if it keeps unknown fields.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};

use super::{Field, KindName, List, Object, Schema, Type};

/// Longest written form that is read, in bytes: many times what Kubernetes' own kinds need.
pub const MAX_BYTES: usize = 2 << 20;

/// Words for types without parts.
const WORDS: [(&str, Type); 9] = [
    ("any", Type::Any),
    ("text", Type::Text),
    ("base64", Type::Base64),
    ("bool", Type::Boolean),
    ("int32", Type::Int32),
    ("int", Type::Integer),
    ("number", Type::Number),
    ("intOrText", Type::IntegerOrText),
    ("quantity", Type::Quantity),
];
/// The key of a map with any key.
const EACH: &str = "*";
/// The key of an object that keeps unknown fields.
const OPEN: &str = "...";

/// Text that is no schema.
#[derive(Debug, thiserror::Error)]
#[error("this is not a schema: {0}")]
pub struct BadSchema(String);

impl BadSchema {
    pub(super) fn of(error: serde_json::Error) -> Self {
        Self(error.to_string())
    }
}

#[derive(serde::Deserialize)]
struct Written {
    minor: u32,
    kinds: BTreeMap<String, Type>,
    shared: Vec<Type>,
}

impl Schema {
    /// Reads a schema from its written form.
    ///
    /// # Errors
    /// It is longer than [`MAX_BYTES`], no JSON of this form, or refers to what is not there.
    pub fn read(bytes: &[u8]) -> Result<Self, BadSchema> {
        if bytes.len() > MAX_BYTES {
            return Err(BadSchema(format!("it is longer than {MAX_BYTES} bytes")));
        }
        let written: Written = serde_json::from_slice(bytes).map_err(BadSchema::of)?;
        let all = written.shared.iter().chain(written.kinds.values());
        if !all.into_iter().all(|of| refers_to(of, written.shared.len())) {
            return Err(BadSchema("it refers to a type that is not there".to_owned()));
        }
        if written.shared.iter().any(|of| matches!(of, Type::Shared(_))) {
            return Err(BadSchema("a shared type is only another name".to_owned()));
        }
        let mut kinds = BTreeMap::new();
        for (name, of) in written.kinds {
            let kind = kind_of(&name).ok_or_else(|| BadSchema(format!("{name:?} is not a kind")))?;
            kinds.insert(kind, of);
        }
        Ok(Self { minor: written.minor, kinds, shared: written.shared })
    }

    /// The written form.
    pub fn write(&self) -> String {
        let mut text = format!("{{\"minor\":{},\n\"kinds\":{{", self.minor);
        let json = |of: &Type| serde_json::to_string(of).unwrap_or_default();
        for (at, ((group, version, kind), of)) in self.kinds.iter().enumerate() {
            let between = if at == 0 { "\n" } else { ",\n" };
            let slash = if group.is_empty() { "" } else { "/" };
            // Writing to a String cannot fail.
            let _ = write!(text, "{between}\"{group}{slash}{version}/{kind}\":{}", json(of));
        }
        text.push_str("},\n\"shared\":[");
        for (at, of) in self.shared.iter().enumerate() {
            let between = if at == 0 { "\n" } else { ",\n" };
            let _ = write!(text, "{between}{}", json(of));
        }
        text.push_str("\n]}\n");
        text
    }
}

/// `apps/v1/Deployment`, `v1/Pod`.
fn kind_of(name: &str) -> Option<KindName> {
    let (version, kind) = name.rsplit_once('/')?;
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    Some((group.to_owned(), version.to_owned(), kind.to_owned()))
}

/// Whether every reference in a type leads to one of so many shared types.
fn refers_to(of: &Type, shared: usize) -> bool {
    match of {
        Type::Shared(at) => *at < shared,
        Type::List(list) => refers_to(&list.item, shared),
        Type::Map(of) => refers_to(of, shared),
        Type::Object(object) => object.fields.values().all(|field| refers_to(&field.of, shared)),
        _ => true,
    }
}

impl Serialize for Type {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Shared(at) => serializer.serialize_u64(*at as u64),
            Self::OneOf(words) => serializer.serialize_str(&format!("|{}", words.join("|"))),
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
                map.serialize_entry(EACH, of)?;
                map.end()
            }
            Self::Object(object) => {
                let mut map = serializer.serialize_map(None)?;
                for (name, field) in &object.fields {
                    let required = if field.required { "!" } else { "" };
                    map.serialize_entry(&format!("{name}{required}"), &field.of)?;
                }
                if object.open {
                    map.serialize_entry(OPEN, &Self::Any)?;
                }
                map.end()
            }
            word => {
                let known = WORDS.iter().find(|(_, of)| of == word).map_or("any", |(word, _)| word);
                serializer.serialize_str(known)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TypeVisitor)
    }
}

struct TypeVisitor;

impl<'de> Visitor<'de> for TypeVisitor {
    type Value = Type;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a type")
    }

    fn visit_u64<E: serde::de::Error>(self, at: u64) -> Result<Type, E> {
        usize::try_from(at).map(Type::Shared).map_err(E::custom)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Type, E> {
        if let Some(words) = text.strip_prefix('|') {
            return Ok(Type::OneOf(words.split('|').map(str::to_owned).collect()));
        }
        let known = WORDS.into_iter().find(|(word, _)| *word == text);
        known.map(|(_, of)| of).ok_or_else(|| E::custom(format!("{text:?} is not a type")))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Type, A::Error> {
        let item = access.next_element()?.ok_or_else(|| A::Error::custom("a list has items"))?;
        let mut keys = Vec::new();
        while let Some(key) = access.next_element::<String>()? {
            keys.push(match key.split_once('=') {
                Some((key, default)) => (key.to_owned(), Some(default.to_owned())),
                None => (key, None),
            });
        }
        Ok(Type::List(Box::new(List { item, keys })))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Type, A::Error> {
        let mut object = Object::default();
        while let Some((name, of)) = access.next_entry::<String, Type>()? {
            match name.as_str() {
                EACH => return last(access, Type::Map(Box::new(of))),
                OPEN => object.open = true,
                _ => {
                    let required = name.ends_with('!');
                    let name = name.trim_end_matches('!').to_owned();
                    object.fields.insert(name, Field { of, required });
                }
            }
        }
        Ok(Type::Object(object))
    }
}

/// Nothing may follow.
fn last<'de, A: MapAccess<'de>>(mut access: A, of: Type) -> Result<Type, A::Error> {
    match access.next_entry::<String, Type>()? {
        None => Ok(of),
        Some(_) => Err(A::Error::custom("a map with any key has nothing else")),
    }
}
