//! The formatting style of a document, so that added text matches it.

use super::nodes::{NodeKind, YamlNode};

/// Line ends and indentation of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Style {
    /// Line end.
    pub newline: &'static str,
    /// Spaces per level.
    pub indent: usize,
    /// Whether the items of a list are indented relative to its key.
    pub lists_indented: bool,
}

impl Style {
    pub(super) const fn plain(newline: &'static str) -> Self {
        Self { newline, indent: 2, lists_indented: true }
    }

    /// Detects the style of a document by the first occurrence of each feature.
    pub(super) fn detect(text: &str, root: &YamlNode) -> Self {
        let mut detected = StyleDetector { text, indent: None, lists_indented: None };
        detected.visit(root);
        Self {
            newline: detect_newline(text),
            indent: detected.indent.unwrap_or(2),
            lists_indented: detected.lists_indented.unwrap_or(true),
        }
    }
}

/// The line end that a text uses.
pub(super) fn detect_newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// The column of a byte, from 0: the number of characters before it on its line.
pub(super) fn column(text: &str, at: usize) -> usize {
    let head = &text[..at];
    head.chars().rev().take_while(|c| *c != '\n').count()
}

struct StyleDetector<'a> {
    text: &'a str,
    indent: Option<usize>,
    lists_indented: Option<bool>,
}

impl StyleDetector<'_> {
    fn visit(&mut self, node: &YamlNode) {
        match &node.kind {
            NodeKind::Map { flow: false, entries } => {
                for entry in entries {
                    let (outer, inner) =
                        (column(self.text, entry.key.start), column(self.text, entry.value.start));
                    match &entry.value.kind {
                        NodeKind::Map { flow: false, .. } if inner > outer => {
                            self.indent.get_or_insert(inner - outer);
                        }
                        NodeKind::List { flow: false, .. } => {
                            self.lists_indented.get_or_insert(inner > outer);
                        }
                        _ => {}
                    }
                    self.visit(&entry.value);
                }
            }
            NodeKind::List { flow: false, items } => items.iter().for_each(|item| self.visit(&item.value)),
            _ => {}
        }
    }
}
