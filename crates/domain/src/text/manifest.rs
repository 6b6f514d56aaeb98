//! Manifests: Kubernetes objects as written in the source, with the location of every field (G109 … G111).
//!
//! Values are parsed as by `kubectl` (YAML 1.1 scalars, JSON is YAML), with two intended differences: a duplicate key
//! is rejected, and large integers keep every digit. The text is untrusted, so everything is bounded.

use std::sync::Arc;

use serde_json::Value;

use crate::kubernetes::object::ObjectRef;
use crate::text::finding::TextEdit;
use crate::text::finding::{Finding, SourceLocation};
use crate::text::source_file::SourceFile;

mod document_text;
mod documents;
pub mod envelope;
mod explain;
mod foreign;
mod identity;
mod key_comments;
mod location;
mod parser;
mod plain_scalar;
mod size;
mod source_reader;
mod unique;
pub mod yaml_value;

use document_text::DocumentText;
pub(crate) use documents::{YamlDocument, split_documents};
pub use key_comments::read_key_comments;
use location::PositionTree;
pub(crate) use size::{check_rendered, count_path_bytes, json_size, long_paths, longest_path, value_depth};
pub(crate) use unique::duplicate_finding;

/// Most text in all files together, in bytes.
pub const MAX_TEXT_BYTES: usize = 10 << 20;
/// Most documents in all files together.
pub const MAX_DOCUMENTS: usize = 500;
/// Most values in one document, aliases written out.
pub const MAX_DOCUMENT_NODES: usize = 100_000;
/// Most values in all documents together, aliases written out (P19).
pub const MAX_NODES: usize = 250_000;
/// Deepest nesting of an object: deeper than any schema in use, shallow enough for the stack of a browser.
pub const MAX_DEPTH: usize = 64;
/// Most bytes of one object, as JSON: the limit of etcd.
pub const MAX_OBJECT_BYTES: usize = 1 << 20;
/// Most bytes of all objects together, as JSON.
pub const MAX_BUNDLE_BYTES: usize = 4 << 20;
/// The code of findings about content beyond one of these limits.
pub const LIMIT_EXCEEDED: &str = "G111";

/// One object of a source.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The object, as JSON.
    pub object: Value,
    /// Where its document begins.
    pub location: SourceLocation,
    tree: Arc<PositionTree>,
    text: DocumentText,
}

impl Manifest {
    /// An object that was not read from text: every field has the location of the object.
    pub fn new(object: Value, location: SourceLocation) -> Self {
        Self { object, location, tree: Arc::default(), text: DocumentText::default() }
    }

    /// Its reference, as written (the namespace may be empty).
    pub fn object_ref(&self) -> ObjectRef {
        crate::kubernetes::object::object_ref(&self.object)
    }

    /// The location of the field at a JSON pointer, or else of its nearest parent that has one.
    pub fn location_of(&self, pointer: &str) -> SourceLocation {
        match self.tree.position_of(pointer) {
            Some(position) => position.in_file(&self.location.file),
            None => self.location.clone(),
        }
    }

    /// The edit that replaces `old` by `new` as the value of the field at a JSON pointer; `None` unless the value is
    /// exactly `old`, in quotes or not.
    pub(crate) fn replacement_edit(&self, pointer: &str, old: &str, new: &str) -> Option<TextEdit> {
        self.text.find_scalar(&self.tree, pointer)?.replace(old, new).map(|edit| self.to_edit(edit))
    }

    /// Whether the value `value` of the field at a JSON pointer was filled into a template: there is an expression behind
    /// the key, and the value is not written there.
    pub(crate) fn is_filled(&self, pointer: &str, value: &str) -> bool {
        let scalar = self.text.find_scalar(&self.tree, pointer);
        scalar.is_some_and(|scalar| scalar.has_expression() && scalar.replace(value, value).is_none())
    }

    /// The edit that quotes a number, a boolean or the like.
    pub(crate) fn quoting_edit(&self, pointer: &str) -> Option<TextEdit> {
        self.text.find_scalar(&self.tree, pointer)?.quote().map(|edit| self.to_edit(edit))
    }

    /// The edit that removes this object from its file; `None` when it shares a document with others, or is large.
    pub(crate) fn removal_edit(&self) -> Option<TextEdit> {
        self.text.to_removal().map(|edit| self.to_edit(edit))
    }

    /// Whether another object's document has the same bytes, apart from the marker before it.
    pub(crate) fn has_same_text(&self, other: &Self) -> bool {
        self.text.has_same_content(&other.text)
    }

    fn to_edit(&self, (start, old, new): document_text::TextChange) -> TextEdit {
        TextEdit { file: self.location.file.clone(), start, old, new }
    }
}

/// The result of parsing a source: every valid object and every problem, not only the first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedManifests {
    /// The objects, in the order written.
    pub manifests: Vec<Manifest>,
    /// The problems of the text.
    pub findings: Vec<Finding>,
}

impl ParsedManifests {
    /// The objects alone, in the order written.
    pub fn objects(&self) -> Vec<Value> {
        self.manifests.iter().map(|manifest| manifest.object.clone()).collect()
    }
}

/// A document as JSON; `None` if it is invalid or has a duplicate key.
pub(crate) fn read_value(document: &YamlDocument<'_>) -> Option<Value> {
    let located = parser::parse_document(document, MAX_DOCUMENT_NODES).ok()?;
    located.duplicates.is_empty().then_some(located.value)
}

/// Separates the files of a repository that hold data of other tools, such as values or dashboards, from its manifests: no
/// document of them has an `apiVersion` or a `kind`. One warning names them all.
///
/// For files that were found at a path. What a person names or writes as a manifest is never left out.
pub fn leave_out_data(files: Vec<SourceFile>) -> (Vec<SourceFile>, Option<Finding>) {
    let mut nodes_left = MAX_NODES;
    let (data, manifests): (Vec<_>, Vec<_>) =
        files.into_iter().partition(|file| foreign::is_data(file, &mut nodes_left));
    let names: Vec<&str> = data.iter().map(|file| file.name.as_str()).collect();
    (manifests, (!names.is_empty()).then(|| explain::left_out(&names)))
}

/// Parses the files of a source. Text over the limits is rejected (G111), never truncated.
pub fn parse(files: &[SourceFile]) -> ParsedManifests {
    let mut parsed = source_reader::parse_files(files);
    parsed.findings.extend(unique::check(&parsed.manifests));
    parsed.findings.extend(size::check(&parsed.manifests));
    parsed
}

#[cfg(test)]
mod tests;
