//! Structural schemas: which fields a kind has and of what type (G403).
//!
//! Three sources. The best is what a cluster's own API server says, which its agent hands to the hub: it knows that
//! version and the custom kinds that are installed there. Where no cluster has said anything, Kubernetes' own kinds come
//! from one file that `cargo xtask schema` takes from a real API server; it is part of native programs and not of the
//! WASM, to which a page hands it. Kinds that a workload defines itself come from its CustomResourceDefinitions. A kind
//! that none knows is not judged: G401 speaks of those.
//!
//! Only structure is held here, as far as every cluster that serves the kind enforces it when it is applied: unknown
//! fields, types, enumerations, required fields, items of a list that stand twice under one key. Ranges, patterns and
//! rules between fields are the business of other guard rails and of the cluster's dry run.

use std::collections::BTreeMap;

use crate::digest::Digest;

mod check;
mod definition;
mod elsewhere;
mod form;
mod openapi;
mod step;
#[cfg(test)]
mod tests;
mod words;

pub use check::{Fault, MOST_FAULTS};
pub(crate) use definition::defined;
pub use form::{BadSchema, MAX_BYTES};
pub use openapi::Documents;

/// Group, version and kind.
pub type KindName = (String, String, String);

/// The structure of many kinds. Types that several of them use are held once and may refer to each other in circles.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Schema {
    /// Minor version of the Kubernetes that these kinds are from: 36 for 1.36.
    pub(crate) minor: u32,
    pub(crate) kinds: BTreeMap<KindName, Type>,
    pub(crate) shared: Vec<Type>,
}

/// What a value may be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Type {
    /// Anything; nothing below is known.
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
    OneOf(Vec<String>),
    List(Box<List>),
    /// Any key, and values of one type.
    Map(Box<Type>),
    Object(Object),
    /// The type at this index of [`Schema::shared`], which is not another `Shared`.
    Shared(usize),
}

/// A list.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct List {
    pub item: Type,
    /// The fields by which items are told apart, each with the value it has when it is left out. Server-side apply
    /// refuses two items with equal keys.
    pub keys: Vec<(String, Option<String>)>,
}

/// A map with fields of its own.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object {
    pub fields: BTreeMap<String, Field>,
    /// Whether other fields are kept: `x-kubernetes-preserve-unknown-fields`.
    pub open: bool,
}

/// A field of an object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Field {
    pub of: Type,
    pub required: bool,
}

impl Schema {
    /// The type of a kind's objects; `None` if nothing is known of the kind.
    pub(crate) fn kind(&self, kind: &KindName) -> Option<&Type> {
        self.kinds.get(kind)
    }

    /// Minor version of the Kubernetes that these kinds are from: 36 for 1.36; 0 if they are from nowhere.
    pub fn minor(&self) -> u32 {
        self.minor
    }

    /// How many kinds it knows.
    pub fn kinds(&self) -> usize {
        self.kinds.len()
    }

    /// A type with references followed.
    pub(crate) fn resolve<'a>(&'a self, of: &'a Type) -> &'a Type {
        match of {
            Type::Shared(at) => self.shared.get(*at).unwrap_or(&Type::Any),
            other => other,
        }
    }

    /// The type of `metadata`, the same for all kinds; anything if no kind is known.
    pub(crate) fn metadata(&self) -> Type {
        let first = self.kinds.values().next().map(|kind| self.resolve(kind));
        match first {
            Some(Type::Object(object)) => {
                object.fields.get("metadata").map_or(Type::Any, |field| field.of.clone())
            }
            _ => Type::Any,
        }
    }
}

/// A schema in its written form, and by what to ask for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Digest of the text.
    pub digest: Digest,
    /// What [`Schema::read`] reads.
    pub text: String,
}

impl Written {
    /// This text with its digest.
    pub fn new(text: String) -> Self {
        Self { digest: Digest::of(text.as_bytes()), text }
    }
}

/// Kubernetes' own kinds, read once. Native programs only: a page fetches the same bytes when it needs them.
#[cfg(not(target_arch = "wasm32"))]
pub fn kubernetes() -> &'static Schema {
    use std::sync::LazyLock;
    static KUBERNETES: LazyLock<Schema> = LazyLock::new(|| {
        // A test reads the same bytes; without them there is nothing to say, which is no reason to end a program.
        Schema::read(KUBERNETES_JSON).unwrap_or_default()
    });
    &KUBERNETES
}

/// The file behind [`kubernetes`], as `cargo xtask schema` wrote it.
#[cfg(not(target_arch = "wasm32"))]
pub const KUBERNETES_JSON: &[u8] = include_bytes!("../schema/kubernetes.json");
