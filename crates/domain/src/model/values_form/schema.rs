//! The parts of a JSON schema that a form needs. What it can't express is checked with the complete schema elsewhere.

use serde_json::{Map, Value};

/// Most references that are followed for one value.
const MAX_REFS: usize = 16;
/// Longest reference, in bytes; it is read again for every value that has it.
const MAX_REF_BYTES: usize = 1_024;
/// Most alternatives of one value, types of one value, and required keys of one map that are looked at.
const MAX_ALTERNATIVES: usize = 64;
const MAX_TYPES: usize = 64;
const MAX_REQUIRED: usize = 10_000;
/// Most values to choose from; a longer list is no help, and the value is entered as others of its type.
const MAX_OPTIONS: usize = 1_000;

/// The schema of one value, with references inside the document resolved.
#[derive(Debug, Clone, Copy)]
pub(super) struct ValueSchema<'a> {
    root: &'a Value,
    node: &'a Map<String, Value>,
}

impl<'a> ValueSchema<'a> {
    /// The schema of the values as a whole.
    pub fn new(root: &'a Value) -> Option<Self> {
        Self::resolve(root, root)
    }

    /// Follows `$ref` and the only alternative that is not `null`. Other documents are not fetched.
    fn resolve(root: &'a Value, node: &'a Value) -> Option<Self> {
        let mut node = node.as_object()?;
        for _ in 0..MAX_REFS {
            let next = match node.get("$ref").and_then(Value::as_str) {
                Some(reference) if reference.len() > MAX_REF_BYTES => return None,
                Some(reference) => Some(root.pointer(reference.strip_prefix('#')?)?),
                None => only_alternative(node),
            };
            match next {
                Some(next) => node = next.as_object()?,
                None => return Some(Self { root, node }),
            }
        }
        None
    }

    /// The keys of a map, in the order of the schema.
    pub fn keys(self) -> impl Iterator<Item = &'a str> {
        self.properties().into_iter().flat_map(Map::keys).map(String::as_str)
    }

    /// The schema of the value at `key` of a map.
    pub fn property(self, key: &str) -> Option<Self> {
        Self::resolve(self.root, self.properties()?.get(key)?)
    }

    /// The schema of the items of a list.
    pub fn items(self) -> Option<Self> {
        Self::resolve(self.root, self.node.get("items")?)
    }

    /// Whether a map needs `key`.
    pub fn requires(self, key: &str) -> bool {
        let required = self.node.get("required").and_then(Value::as_array);
        required.is_some_and(|keys| keys.iter().take(MAX_REQUIRED).any(|one| one == key))
    }

    /// The allowed types except `null`; empty if the schema names none.
    pub fn types(self) -> Vec<&'a str> {
        let names = match self.node.get("type") {
            Some(Value::String(name)) => vec![name.as_str()],
            Some(Value::Array(names)) => names.iter().take(MAX_TYPES).filter_map(Value::as_str).collect(),
            _ if self.properties().is_some() => vec!["object"],
            _ => Vec::new(),
        };
        names.into_iter().filter(|name| *name != "null").collect()
    }

    /// The allowed values, `null` included, if the schema lists them, all are scalars and they are not too many.
    pub fn options(self) -> Option<&'a [Value]> {
        let options = self.node.get("enum")?.as_array()?;
        let is_scalar = |value: &Value| !value.is_object() && !value.is_array();
        let is_usable = (1..=MAX_OPTIONS).contains(&options.len()) && options.iter().all(is_scalar);
        is_usable.then_some(options.as_slice())
    }

    /// A number such as `minimum`.
    pub fn limit(self, name: &str) -> Option<f64> {
        self.node.get(name)?.as_f64()
    }

    /// A text such as `description`; empty without one.
    pub fn text(self, name: &str) -> &'a str {
        self.node.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// The default.
    pub fn default(self) -> Option<&'a Value> {
        self.node.get("default")
    }

    fn properties(self) -> Option<&'a Map<String, Value>> {
        self.node.get("properties")?.as_object()
    }
}

/// The alternative of `oneOf` or `anyOf` that is not `null`, if there is one only; or the only part of `allOf`.
fn only_alternative(node: &Map<String, Value>) -> Option<&Value> {
    if node.contains_key("type") || node.contains_key("properties") {
        return None;
    }
    let alternatives = ["oneOf", "anyOf", "allOf"].into_iter().find_map(|name| node.get(name)?.as_array())?;
    if alternatives.len() > MAX_ALTERNATIVES {
        return None;
    }
    let mut others = alternatives.iter().filter(|one| one.get("type").is_none_or(|name| name != "null"));
    let only = others.next()?;
    others.next().is_none().then_some(only)
}
