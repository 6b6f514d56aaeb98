//! The text of a document, for edits that change one value and leave every other byte alone.

use std::sync::Arc;

use super::documents::Document;
use super::located::Tree;

/// Largest document that an edit takes out: the edit carries its text.
const MAX_REMOVED_BYTES: usize = 16 << 10;

/// A change in a file: the byte at which it begins, what stands there, and what should.
pub(super) type Change = (u32, String, String);

/// The text of one document, and where it begins in its file. Nothing for objects that were not read from text.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Text {
    document: Arc<str>,
    start: usize,
    /// Whether several objects come from this document.
    shared: bool,
}

impl Text {
    pub(super) fn of(document: &Document<'_>) -> Self {
        Self { document: document.text.into(), start: document.start, shared: false }
    }

    /// The same text, of one object among several.
    pub(super) fn shared(&self) -> Self {
        Self { shared: true, ..self.clone() }
    }

    /// The value of the field at a pointer, as it is written. The place of a key is known; what follows it is read here,
    /// and only the simplest form is understood: one scalar on the line of its key.
    pub(super) fn value(&self, tree: &Tree, pointer: &str) -> Option<Written<'_>> {
        let key = pointer.rsplit('/').next()?.replace("~1", "/").replace("~0", "~");
        let at = tree.byte_of(pointer)?;
        let rest = self.document.get(at..)?;
        let bare = ["", "\"", "'"]
            .into_iter()
            .find_map(|quote| rest.strip_prefix(quote)?.strip_prefix(key.as_str())?.strip_prefix(quote))?;
        let value = bare.trim_start_matches(' ').strip_prefix(':')?.trim_start_matches(' ');
        let line = value.split(['\n', '\r']).next()?;
        let start = self.start + (self.document.len() - value.len());
        (!line.is_empty()).then_some(Written { line, start })
    }

    /// Takes the document out, the marker that begins it included.
    pub(super) fn removed(&self) -> Option<Change> {
        let alone = !self.shared && !self.document.is_empty() && self.document.len() <= MAX_REMOVED_BYTES;
        Some((u32::try_from(self.start).ok().filter(|_| alone)?, (*self.document).to_owned(), String::new()))
    }

    /// Whether both documents say the same, but for the marker before them and blank lines around them.
    pub(super) fn says_the_same_as(&self, other: &Self) -> bool {
        !self.shared && !other.shared && self.content() == other.content()
    }

    fn content(&self) -> &str {
        let text = self.document.trim();
        text.strip_prefix("---").filter(|rest| rest.starts_with(['\n', '\r'])).unwrap_or(text).trim()
    }
}

/// A scalar and what follows it on its line.
pub(super) struct Written<'a> {
    line: &'a str,
    start: usize,
}

impl Written<'_> {
    /// `new` instead of `old`, in the quotes that are there.
    pub(super) fn replaced(&self, old: &str, new: &str) -> Option<Change> {
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
        (plain(old) && plain(new) && ends(rest)).then_some(())?;
        let start = self.start + (self.line.len() - inner.len());
        Some((u32::try_from(start).ok()?, old.to_owned(), new.to_owned()))
    }

    /// The bare word in quotes.
    pub(super) fn quoted(&self) -> Option<Change> {
        let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.' | '_');
        let end = self.line.find(|c| !bare(c)).unwrap_or(self.line.len());
        let (word, rest) = self.line.split_at(end);
        (!word.is_empty() && ends(rest)).then_some(())?;
        Some((u32::try_from(self.start).ok()?, word.to_owned(), format!("\"{word}\"")))
    }
}

/// Whether a scalar ends before this rest of its line.
fn ends(rest: &str) -> bool {
    let after = rest.trim_start_matches(' ');
    after.is_empty()
        || after.starts_with([',', '}', ']'])
        || (after.starts_with('#') && after.len() < rest.len())
}
