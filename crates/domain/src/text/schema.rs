//! Structural schemas: which fields a kind has and of what type (G403).
//!
//! Three sources. First, the OpenAPI documents of a cluster's API server, reported by its agent: they match its version and
//! contain its custom kinds. Without such a report, Kubernetes' own kinds come from a file that `cargo xtask schema` reads
//! from a real API server; it is embedded in native programs, and pages fetch it for the WASM build. Third, kinds that a
//! workload defines come from its CustomResourceDefinitions. Unknown kinds are not checked here but by G401.
//!
//! A schema holds only structure that every cluster serving the kind enforces on apply: unknown fields, types,
//! enumerations, required fields, list items with equal keys. Ranges, patterns and rules between fields are checked by
//! other guard rails and by the dry run on the cluster.

use std::collections::BTreeMap;

use crate::kubernetes::digest::Digest;

mod check;
mod definition;
mod json_form;
mod memory;
mod messages;
mod misplaced;
mod openapi;
mod path_step;
mod position;
#[cfg(test)]
mod tests;
mod without_descriptions;

pub use check::{MAX_VIOLATIONS, SchemaViolation};
pub(crate) use definition::parse_definition;
pub use json_form::{InvalidSchema, MAX_BYTES};
pub use memory::{MAX_MEMORY_BYTES, estimate_memory};
pub use openapi::OpenApiDocuments;

/// Group, version and kind.
pub type KindKey = (String, String, String);

/// The structure of many kinds. Types used by several of them are stored once, and may refer to each other in cycles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// Minor version of the Kubernetes release that these kinds are from: 36 for 1.36.
    pub(crate) minor: u32,
    pub(crate) kinds: BTreeMap<KindKey, ValueType>,
    pub(crate) shared: Vec<ValueType>,
}

/// The type of a value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ValueType {
    /// Any value; nothing below is checked.
    Any,
    Text,
    /// Text in base64.
    Base64,
    Boolean,
    /// A whole number that fits into 32 bits.
    Int32,
    Integer,
    Number,
    IntegerOrText,
    /// `500m`, `64Mi`, `2`: text or a number.
    Quantity,
    Enum(Vec<String>),
    List(Box<ListType>),
    /// Any key, and values of one type.
    Map(Box<ValueType>),
    Object(ObjectType),
    /// The type at this index of [`Schema::shared`], which is not another `Anchored`.
    Shared(usize),
}

/// A list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ListType {
    pub item: ValueType,
    /// The key fields of its items, each with its default. Server-side apply rejects two items with equal keys.
    pub keys: Vec<(String, Option<String>)>,
}

/// An object with named fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ObjectType {
    pub fields: BTreeMap<String, ObjectField>,
    /// Whether unknown fields are allowed: `x-kubernetes_schema-preserve-unknown-fields`.
    pub allows_unknown: bool,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ObjectField {
    pub value_type: ValueType,
    pub required: bool,
}

impl Schema {
    /// The type of a kind's objects; `None` for an unknown kind.
    pub(crate) fn kind_type(&self, kind: &KindKey) -> Option<&ValueType> {
        self.kinds.get(kind)
    }

    /// Minor version of the Kubernetes release that these kinds are from: 36 for 1.36; 0 for an empty schema.
    pub fn minor(&self) -> u32 {
        self.minor
    }

    /// Number of kinds.
    pub fn kind_count(&self) -> usize {
        self.kinds.len()
    }

    /// The type behind a reference to a shared type.
    pub(crate) fn resolve<'a>(&'a self, of: &'a ValueType) -> &'a ValueType {
        match of {
            ValueType::Shared(at) => self.shared.get(*at).unwrap_or(&ValueType::Any),
            other => other,
        }
    }

    /// The type of `metadata_type`, the same for all kinds; [`ValueType::Any`] without kinds.
    pub(crate) fn metadata_type(&self) -> ValueType {
        let first = self.kinds.values().next().map(|kind| self.resolve(kind));
        match first {
            Some(ValueType::Object(object)) => {
                object.fields.get("metadata").map_or(ValueType::Any, |field| field.value_type.clone())
            }
            _ => ValueType::Any,
        }
    }
}

/// A schema as text, with the digest that identifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedSchema {
    /// Digest of the text.
    pub digest: Digest,
    /// The JSON form, which [`Schema::from_json`] parses.
    pub text: String,
}

impl EncodedSchema {
    /// This text with its digest.
    pub fn new(text: String) -> Self {
        Self { digest: Digest::compute(text.as_bytes()), text }
    }
}

/// The schema of Kubernetes' own kinds, parsed once. Native programs only: pages fetch the same bytes when needed.
#[cfg(not(target_arch = "wasm32"))]
pub fn kubernetes_schema() -> &'static Schema {
    use std::sync::LazyLock;
    static KUBERNETES: LazyLock<Schema> = LazyLock::new(|| {
        // A test parses the same bytes. An empty schema checks nothing, which is better than a panic.
        Schema::from_json(KUBERNETES_JSON).unwrap_or_default()
    });
    &KUBERNETES
}

/// The file behind [`kubernetes_schema`], generated by `cargo xtask schema`.
#[cfg(not(target_arch = "wasm32"))]
pub const KUBERNETES_JSON: &[u8] = include_bytes!("../../schema/kubernetes.json");
