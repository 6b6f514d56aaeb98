//! Changes to YAML text that leave everything else of it alone, byte for byte.
//!
//! A form that stands beside a text must not write the text anew: comments, order, quoting and fields that it does not
//! know are the person's. Every change here is a few splices into the text, found by the places of its nodes, and is
//! checked before it is given out: the new text must read as the old one but for the one value asked for, else the
//! change is refused and the form says "edit this in the YAML". So whatever notation a text uses, a change is right or it
//! is not made.
//!
//! A text may hold several documents; they are counted as [`documents`] gives them.

use serde_json::Value;

use crate::manifest::{Document, read_value, split};
use crate::path::Path;

mod apply;
mod change;
mod nodes;
mod style;
mod write;

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;

use change::Editor;

/// Why a text can't be changed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The document can't be read.
    #[error("The text has a mistake; mend it in the YAML first.")]
    Unreadable,
    /// The path leads to nothing, or through something that holds no fields.
    #[error("There is no such field any more; look at the YAML.")]
    NotThere,
    /// The place has an anchor or an alias: a change would show elsewhere too.
    #[error("This part is shared by an anchor; edit this in the YAML.")]
    Shared,
    /// The notation is one that can't be changed without touching the rest.
    #[error("This part is written in a way that the form can't change; edit this in the YAML.")]
    Notation,
}

/// The documents of a text as JSON; `None` for one that can't be read.
pub fn documents(text: &str) -> Vec<Option<Value>> {
    split(text).iter().map(read_value).collect()
}

/// Sets the value at `path` in the document with this number. Missing maps on the way are made; `-` stands behind the
/// last item of a list. A value that is there already changes nothing.
///
/// # Errors
///
/// [`Refused`] says why the text can't be changed there; the text is as it was.
pub fn set(text: &str, document: usize, path: &Path, value: &Value) -> Result<String, Refused> {
    let target = Target::find(text, document)?;
    let steps = apply::steps(&target.value, path)?;
    if apply::get(&target.value, &steps) == Some(value) {
        return Ok(text.to_owned());
    }
    let mut expected = target.value.clone();
    apply::set(&mut expected, &steps, value)?;
    let splices = Editor::new(&target.document, &target.value)?.set(&steps, value)?;
    target.put(splices, &expected)
}

/// Removes the key or the list item at `path` in the document with this number. What held only this is empty then
/// (`{}`, `[]`); nothing there is no change.
///
/// # Errors
///
/// [`Refused`] says why the text can't be changed there; the text is as it was.
pub fn remove(text: &str, document: usize, path: &Path) -> Result<String, Refused> {
    let target = Target::find(text, document)?;
    let Ok(steps) = apply::steps(&target.value, path) else { return Ok(text.to_owned()) };
    if apply::get(&target.value, &steps).is_none() {
        return Ok(text.to_owned());
    }
    let mut expected = target.value.clone();
    apply::remove(&mut expected, &steps)?;
    let splices = Editor::new(&target.document, &target.value)?.remove(&steps)?;
    target.put(splices, &expected)
}

/// Puts a document behind the last one.
pub fn add_document(text: &str, value: &Value) -> String {
    let newline = style::newline(text);
    let written = write::Writer::plain(newline).document(value);
    if split(text).is_empty() {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { newline };
        return format!("{text}{gap}{written}");
    }
    let gap = if text.ends_with('\n') { "" } else { newline };
    format!("{text}{gap}---{newline}{written}")
}

/// Writes a document anew in the place of another; the others stay as they are.
///
/// # Errors
///
/// [`Refused::NotThere`] if the text has no such document, [`Refused::Notation`] if the others would not stay as they are.
pub fn replace_document(text: &str, document: usize, value: &Value) -> Result<String, Refused> {
    let all = split(text);
    let old = all.get(document).ok_or(Refused::NotThere)?;
    let newline = style::newline(text);
    let marker = if old.text.starts_with("---") { format!("---{newline}") } else { String::new() };
    let written = write::Writer::plain(newline).document(value);
    let (head, tail) = (&text[..old.start], &text[old.start + old.text.len()..]);
    let whole = format!("{head}{marker}{written}{tail}");
    let mut expected: Vec<_> = all.iter().map(read_value).collect();
    expected[document] = Some(value.clone());
    if documents(&whole) == expected { Ok(whole) } else { Err(Refused::Notation) }
}

/// Removes a whole document with its marker.
///
/// # Errors
///
/// [`Refused::NotThere`] if the text has no such document, [`Refused::Notation`] if the others would not stay as they are.
pub fn remove_document(text: &str, document: usize) -> Result<String, Refused> {
    let all = split(text);
    let gone = all.get(document).ok_or(Refused::NotThere)?;
    let (start, end) = (gone.start, gone.start + gone.text.len());
    let (head, mut tail) = (&text[..start], &text[end..]);
    // What was second is first now and needs no marker.
    if head.trim().is_empty() {
        let rest = tail.strip_prefix("---").unwrap_or(tail);
        tail = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')).unwrap_or(tail);
    }
    let left = format!("{head}{tail}");
    let mut expected: Vec<_> = all.iter().map(read_value).collect();
    expected.remove(document);
    if documents(&left) == expected { Ok(left) } else { Err(Refused::Notation) }
}

/// A document that can be read, in its text.
struct Target<'a> {
    text: &'a str,
    number: usize,
    count: usize,
    document: Document<'a>,
    value: Value,
}

impl<'a> Target<'a> {
    fn find(text: &'a str, number: usize) -> Result<Self, Refused> {
        let all = split(text);
        let document = *all.get(number).ok_or(Refused::NotThere)?;
        let value = read_value(&document).ok_or(Refused::Unreadable)?;
        Ok(Self { text, number, count: all.len(), document, value })
    }

    /// The text with the splices, if it says what it should.
    fn put(&self, splices: Vec<change::Splice>, expected: &Value) -> Result<String, Refused> {
        let changed = change::spliced(self.document.text, splices).ok_or(Refused::Notation)?;
        let (head, tail) =
            (&self.text[..self.document.start], &self.text[self.document.start + self.document.text.len()..]);
        let whole = format!("{head}{changed}{tail}");
        let all = split(&whole);
        let says = (all.len() == self.count).then(|| all.get(self.number).and_then(read_value)).flatten();
        if says.as_ref() == Some(expected) { Ok(whole) } else { Err(Refused::Notation) }
    }
}
