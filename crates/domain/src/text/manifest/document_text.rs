//! The text of a document, for edits that change one value and no other byte.

use std::sync::Arc;

use super::documents::YamlDocument;
use super::location::PositionTree;

/// Largest document that an edit removes, in bytes: the edit contains its text.
const MAX_REMOVED_BYTES: usize = 16 << 10;

/// A change in a file: its byte offset, the old text and the new text.
pub(super) type TextChange = (u32, String, String);

/// The text of one document, and its offset in the file. Empty for objects that were not read from text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct DocumentText {
    document: Arc<str>,
    start: usize,
    /// Whether several objects come from this document.
    shared: bool,
}

impl DocumentText {
    pub(super) fn from_document(document: &YamlDocument<'_>) -> Self {
        Self { document: document.text.into(), start: document.start, shared: false }
    }

    /// The same text, for one object among several.
    pub(super) fn to_shared(&self) -> Self {
        Self { shared: true, ..self.clone() }
    }

    /// The value of the field at a pointer, as it is written. The position of a key is known; the text behind it is
    /// parsed here, and only in the simplest form: one scalar on the line of its key.
    pub(super) fn find_scalar(&self, tree: &PositionTree, pointer: &str) -> Option<ScalarText<'_>> {
        let key = pointer.rsplit('/').next()?.replace("~1", "/").replace("~0", "~");
        let at = tree.byte_offset_of(pointer)?;
        let rest = self.document.get(at..)?;
        let bare = ["", "\"", "'"]
            .into_iter()
            .find_map(|quote| rest.strip_prefix(quote)?.strip_prefix(key.as_str())?.strip_prefix(quote))?;
        let value = bare.trim_start_matches(' ').strip_prefix(':')?.trim_start_matches(' ');
        let line = value.split(['\n', '\r']).next()?;
        let start = self.start + (self.document.len() - value.len());
        (!line.is_empty()).then_some(ScalarText { line, start })
    }

    /// Removes the document, with the marker that begins it.
    pub(super) fn to_removal(&self) -> Option<TextChange> {
        let alone = !self.shared && !self.document.is_empty() && self.document.len() <= MAX_REMOVED_BYTES;
        Some((u32::try_from(self.start).ok().filter(|_| alone)?, (*self.document).to_owned(), String::new()))
    }

    /// Whether both documents have the same content, apart from the marker before and blank lines around it.
    pub(super) fn has_same_content(&self, other: &Self) -> bool {
        !self.shared && !other.shared && self.content() == other.content()
    }

    fn content(&self) -> &str {
        let text = self.document.trim();
        text.strip_prefix("---").filter(|rest| rest.starts_with(['\n', '\r'])).unwrap_or(text).trim()
    }
}

/// A scalar and what follows it on its line.
pub(super) struct ScalarText<'a> {
    line: &'a str,
    start: usize,
}

impl ScalarText<'_> {
    /// Whether a template expression begins on the line.
    pub(super) fn has_expression(&self) -> bool {
        self.line.contains("${{")
    }

    /// Replaces `old` by `new`, within the existing quotes.
    pub(super) fn replace(&self, old: &str, new: &str) -> Option<TextChange> {
        let plain = |text: &str| !text.is_empty() && !text.contains(['"', '\'', '\\', '\n', '#']);
        let (quote, inner) = match self.line.chars().next()? {
            quote @ ('"' | '\'') => (Some(quote), &self.line[1..]),
            _ => (None, self.line),
        };
        let rest = inner.strip_prefix(old)?;
        let rest = match quote {
            Some(quote) => rest.strip_prefix(quote)?,
            None => rest,
        };
        (plain(old) && plain(new) && is_scalar_end(rest)).then_some(())?;
        let start = self.start + (self.line.len() - inner.len());
        Some((u32::try_from(start).ok()?, old.to_owned(), new.to_owned()))
    }

    /// Quotes a plain scalar.
    pub(super) fn quote(&self) -> Option<TextChange> {
        let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = self.line.find(|c| !bare(c)).unwrap_or(self.line.len());
        let (scalar, rest) = self.line.split_at(end);
        (!scalar.is_empty() && is_scalar_end(rest)).then_some(())?;
        Some((u32::try_from(self.start).ok()?, scalar.to_owned(), format!("\"{scalar}\"")))
    }
}

/// Whether a scalar ends before this rest of its line.
fn is_scalar_end(rest: &str) -> bool {
    let after = rest.trim_start_matches(' ');
    after.is_empty()
        || after.starts_with([',', '}', ']'])
        || (after.starts_with('#') && after.len() < rest.len())
}
