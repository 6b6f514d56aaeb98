//! Lossless edits of YAML text: every other byte stays unchanged.
//!
//! A form beside a text must not rewrite it: comments, order, quoting and unknown fields belong to the user. Every
//! change is a few splices at the positions of YAML nodes, and is verified before it is returned: the new text must
//! parse to the old value except for the requested change, otherwise the change is rejected and the form displays "edit
//! this in the YAML". A change is therefore correct or not made, whatever notation a text uses
//! (docs/decisions/0014).
//!
//! A text may hold several documents; they are numbered in the order of [`parse_documents`].

use serde_json::Value;

use crate::kubernetes::field_path::FieldPath;
use crate::text::manifest::{YamlDocument, read_value, split_documents};

mod apply;
mod budget;
mod nodes;
mod splice;
mod style;
mod write;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use budget::EditBudget;

use splice::SpliceBuilder;

/// Why a text cannot be changed at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The document is not valid YAML.
    #[error("The text is not valid YAML; fix it in the YAML first.")]
    InvalidYaml,
    /// The path leads to no value, or through a scalar.
    #[error("The field no longer exists; check the YAML.")]
    NotFound,
    /// The value has an anchor or an alias: a change would affect other places.
    #[error("This value is shared through a YAML anchor; edit this in the YAML.")]
    Anchored,
    /// The notation cannot be changed without changing other text.
    #[error("The form cannot change this YAML notation; edit this in the YAML.")]
    UnsupportedNotation,
}

/// The documents of a text as JSON; `None` for one that is invalid.
pub fn parse_documents(text: &str) -> Vec<Option<Value>> {
    split_documents(text).iter().map(read_value).collect()
}

/// Sets the value at `path` in the document with this number. Missing maps on the way are created; `-` appends to a
/// list. Setting the existing value changes nothing.
///
/// # Errors
///
/// [`EditError`] if the text cannot be changed at `path`.
pub fn set(text: &str, document: usize, path: &FieldPath, value: &Value) -> Result<String, EditError> {
    let target = TargetDocument::find(text, document)?;
    let steps = apply::resolve_path(&target.value, path)?;
    if apply::get(&target.value, &steps) == Some(value) {
        return Ok(text.to_owned());
    }
    let mut expected = target.value.clone();
    apply::set(&mut expected, &steps, value)?;
    let splices = SpliceBuilder::new(&target.document, &target.value)?.set(&steps, value)?;
    target.apply_splices(splices, &expected)
}

/// Removes the key or the list item at `path` in the document with this number. A map or list that loses its last entry
/// becomes `{}` or `[]`; a missing path changes nothing.
///
/// # Errors
///
/// [`EditError`] if the text cannot be changed at `path`.
pub fn remove(text: &str, document: usize, path: &FieldPath) -> Result<String, EditError> {
    let target = TargetDocument::find(text, document)?;
    let Ok(steps) = apply::resolve_path(&target.value, path) else { return Ok(text.to_owned()) };
    if apply::get(&target.value, &steps).is_none() {
        return Ok(text.to_owned());
    }
    let mut expected = target.value.clone();
    apply::remove(&mut expected, &steps)?;
    let splices = SpliceBuilder::new(&target.document, &target.value)?.remove(&steps)?;
    target.apply_splices(splices, &expected)
}

/// Appends a document.
pub fn add_document(text: &str, value: &Value) -> String {
    let newline = style::detect_newline(text);
    let written = write::YamlWriter::with_default_style(newline).format_document(value);
    if split_documents(text).is_empty() {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        return format!("{text}{gap}{written}");
    }
    let gap = if text.ends_with('\n') { "" } else { newline };
    format!("{text}{gap}---{newline}{written}")
}

/// Replaces a document; the others stay unchanged.
///
/// # Errors
///
/// [`EditError::NotFound`] if the text has no such document, [`EditError::UnsupportedNotation`] if the others would change.
pub fn replace_document(text: &str, document: usize, value: &Value) -> Result<String, EditError> {
    let all = split_documents(text);
    let old = all.get(document).ok_or(EditError::NotFound)?;
    let newline = style::detect_newline(text);
    let marker = if old.text.starts_with("---") { format!("---{newline}") } else { String::new() };
    let written = write::YamlWriter::with_default_style(newline).format_document(value);
    let (head, tail) = (&text[..old.start], &text[old.start + old.text.len()..]);
    let whole = format!("{head}{marker}{written}{tail}");
    let mut expected: Vec<_> = all.iter().map(read_value).collect();
    expected[document] = Some(value.clone());
    if parse_documents(&whole) == expected { Ok(whole) } else { Err(EditError::UnsupportedNotation) }
}

/// Removes a whole document with its marker.
///
/// # Errors
///
/// [`EditError::NotFound`] if the text has no such document, [`EditError::UnsupportedNotation`] if the others would change.
pub fn remove_document(text: &str, document: usize) -> Result<String, EditError> {
    let all = split_documents(text);
    let removed = all.get(document).ok_or(EditError::NotFound)?;
    let (start, end) = (removed.start, removed.start + removed.text.len());
    let (head, mut tail) = (&text[..start], &text[end..]);
    // The second document is now the first and needs no marker.
    if head.trim().is_empty() {
        let rest = tail.strip_prefix("---").unwrap_or(tail);
        tail = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(tail);
    }
    let left = format!("{head}{tail}");
    let mut expected: Vec<_> = all.iter().map(read_value).collect();
    expected.remove(document);
    if parse_documents(&left) == expected { Ok(left) } else { Err(EditError::UnsupportedNotation) }
}

/// A valid document within its text.
struct TargetDocument<'a> {
    text: &'a str,
    number: usize,
    count: usize,
    document: YamlDocument<'a>,
    value: Value,
}

impl<'a> TargetDocument<'a> {
    fn find(text: &'a str, number: usize) -> Result<Self, EditError> {
        let all = split_documents(text);
        let document = *all.get(number).ok_or(EditError::NotFound)?;
        let value = read_value(&document).ok_or(EditError::InvalidYaml)?;
        Ok(Self { text, number, count: all.len(), document, value })
    }

    /// The text with the splices applied, if the document then parses to `expected`.
    fn apply_splices(&self, splices: Vec<splice::Splice>, expected: &Value) -> Result<String, EditError> {
        let changed =
            splice::apply_splices(self.document.text, splices).ok_or(EditError::UnsupportedNotation)?;
        let (head, tail) =
            (&self.text[..self.document.start], &self.text[self.document.start + self.document.text.len()..]);
        let whole = format!("{head}{changed}{tail}");
        let all = split_documents(&whole);
        let parsed = (all.len() == self.count).then(|| all.get(self.number).and_then(read_value)).flatten();
        if parsed.as_ref() == Some(expected) { Ok(whole) } else { Err(EditError::UnsupportedNotation) }
    }
}
