//! How a person writes: what is added looks like what is there.

use super::nodes::{Kind, Node};

/// Line ends and indentation of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    /// Line end.
    pub newline: &'static str,
    /// Blanks per level.
    pub step: usize,
    /// Whether the items of a list stand further right than the key of the list.
    pub lists_indented: bool,
}

impl Style {
    pub(super) const fn plain(newline: &'static str) -> Self {
        Self { newline, step: 2, lists_indented: true }
    }

    /// The style of a document, by the first of each that is found.
    pub(super) fn of(text: &str, root: &Node) -> Self {
        let mut seen = Seen { text, step: None, lists: None };
        seen.look(root);
        Self {
            newline: newline(text),
            step: seen.step.unwrap_or(2),
            lists_indented: seen.lists.unwrap_or(true),
        }
    }
}

/// The line end that a text uses.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The column of a byte, from 0; what stands before it on its line counts whatever it is.
pub(super) fn column(text: &str, at: usize) -> usize {
    let head = &text[..at];
    head.chars().rev().take_while(|c| *c != '\n').count()
}

struct Seen<'a> {
    text: &'a str,
    step: Option<usize>,
    lists: Option<bool>,
}

impl Seen<'_> {
    fn look(&mut self, node: &Node) {
        match &node.kind {
            Kind::Map { flow: false, entries } => {
                for entry in entries {
                    let (outer, inner) =
                        (column(self.text, entry.key.start), column(self.text, entry.value.start));
                    match &entry.value.kind {
                        Kind::Map { flow: false, .. } if inner > outer => {
                            self.step.get_or_insert(inner - outer);
                        }
                        Kind::List { flow: false, .. } => {
                            self.lists.get_or_insert(inner > outer);
                        }
                        _ => {}
                    }
                    self.look(&entry.value);
                }
            }
            Kind::List { flow: false, items } => items.iter().for_each(|item| self.look(&item.value)),
            _ => {}
        }
    }
}
