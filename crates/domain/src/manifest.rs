//! Manifests: Kubernetes objects as a person wrote them, with the place of every field (G109 … G111).
//!
//! Values are read as `kubectl` reads them (YAML 1.1 scalars, JSON is YAML), with two differences on purpose: a key
//! that appears twice is refused, and large integers keep every digit. The text is untrusted, so everything is bounded.

use std::sync::Arc;

use serde_json::Value;

use crate::finding::{Finding, Place};
use crate::fix::Edit;
use crate::object::ObjectRef;
use crate::workload::SourceFile;

mod documents;
mod explain;
mod foreign;
mod identity;
mod located;
pub mod plain;
mod read;
mod reader;
mod size;
mod text;
mod unique;

pub(crate) use documents::{Document, split};
use located::Tree;
use text::Text;
pub(crate) use unique::twice;

/// Most text in all files together, in bytes.
pub const MAX_TEXT_BYTES: usize = 10 << 20;
/// Most documents in all files together.
pub const MAX_DOCUMENTS: usize = 500;
/// Most values in one document, aliases written out.
pub const MAX_DOCUMENT_NODES: usize = 100_000;
/// Most values in all documents together, aliases written out (P19).
pub const MAX_NODES: usize = 250_000;
/// Most bytes of one object, as JSON: etcd takes no more.
pub const MAX_OBJECT_BYTES: usize = 1 << 20;
/// Most bytes of all objects together, as JSON.
pub const MAX_BUNDLE_BYTES: usize = 4 << 20;

/// One object of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The object, as JSON.
    pub object: Value,
    /// Where its document begins.
    pub place: Place,
    tree: Arc<Tree>,
    text: Text,
}

impl Manifest {
    /// An object that was not read from text: every field is where the object is.
    pub fn new(object: Value, place: Place) -> Self {
        Self { object, place, tree: Arc::default(), text: Text::default() }
    }

    /// What it is called, as written (the namespace may be empty).
    pub fn object_ref(&self) -> ObjectRef {
        crate::bundle::object_ref(&self.object)
    }

    /// Where the field at a JSON pointer stands; falls back to the nearest parent that has a place.
    pub fn place_of(&self, pointer: &str) -> Place {
        match self.tree.spot_of(pointer) {
            Some(spot) => spot.in_file(&self.place.file),
            None => self.place.clone(),
        }
    }

    /// The edit that writes `new` instead of `old` as the value of the field at a JSON pointer; `None` unless exactly
    /// `old` stands there, in quotes or not.
    pub(crate) fn replaced(&self, pointer: &str, old: &str, new: &str) -> Option<Edit> {
        self.text.value(&self.tree, pointer)?.replaced(old, new).map(|edit| self.in_file(edit))
    }

    /// The edit that puts a number, a truth value or the like in quotes.
    pub(crate) fn quoted(&self, pointer: &str) -> Option<Edit> {
        self.text.value(&self.tree, pointer)?.quoted().map(|edit| self.in_file(edit))
    }

    /// The edit that takes this object out of its file; `None` when it shares a document with others, or is large.
    pub(crate) fn removed(&self) -> Option<Edit> {
        self.text.removed().map(|edit| self.in_file(edit))
    }

    /// Whether another object's document says the same, byte by byte, but for the marker before it.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        self.text.says_the_same_as(&other.text)
    }

    fn in_file(&self, (start, old, new): text::Change) -> Edit {
        Edit { file: self.place.file.clone(), start, old, new }
    }
}

/// What reading a source gave: every object that could be read, and every problem. Never stops at the first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parsed {
    /// The objects, in the order written.
    pub manifests: Vec<Manifest>,
    /// What is wrong with the text.
    pub findings: Vec<Finding>,
}

impl Parsed {
    /// The objects alone, in the order written.
    pub fn objects(&self) -> Vec<Value> {
        self.manifests.iter().map(|manifest| manifest.object.clone()).collect()
    }
}

/// A document as JSON; `None` if it can't be read, or has a key twice.
pub(crate) fn read_value(document: &Document<'_>) -> Option<Value> {
    let located = read::read(document, MAX_DOCUMENT_NODES).ok()?;
    located.duplicates.is_empty().then_some(located.value)
}

/// Reads the files of a source. Text over the limits is refused (G111), never cut.
pub fn parse(files: &[SourceFile]) -> Parsed {
    let mut parsed = reader::read(files);
    parsed.findings.extend(unique::check(&parsed.manifests));
    parsed.findings.extend(size::check(&parsed.manifests));
    parsed
}

#[cfg(test)]
mod tests;
