//! Computes the splices of a change.

use std::ops::Range;

use granit_parser::ScalarStyle;
use serde_json::Value;

use super::EditError;
use super::apply::{ResolvedStep, child, nest_value};
use super::nodes::{ListItem, MapEntry, NodeKind, YamlNode};
use super::style::{Style, column};
use super::write::{self, Quotes, YamlWriter, is_block};
use crate::text::manifest::YamlDocument;

/// A range of bytes and the text that replaces it.
pub(super) type Splice = (Range<usize>, String);

/// The text with all splices applied; `None` if they overlap or split a character.
pub(super) fn apply_splices(text: &str, mut splices: Vec<Splice>) -> Option<String> {
    splices.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut at) = (String::with_capacity(text.len() + 64), 0);
    for (range, new) in splices {
        out.push_str(text.get(at..range.start)?);
        out.push_str(&new);
        at = range.end;
        if at < range.start {
            return None;
        }
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// The parent of a node.
enum NodeParent<'n> {
    Document,
    Field(&'n MapEntry),
    Item,
}

/// Computes splices for one document.
pub(super) struct SpliceBuilder<'a> {
    text: &'a str,
    value: &'a Value,
    root: YamlNode,
    writer: YamlWriter,
}

impl<'a> SpliceBuilder<'a> {
    pub(super) fn new(document: &YamlDocument<'a>, value: &'a Value) -> Result<Self, EditError> {
        let root = YamlNode::parse_document(document.text)?;
        let writer = YamlWriter::new(Style::detect(document.text, &root));
        Ok(Self { text: document.text, value, root, writer })
    }

    /// Splices that set the value at the end of the steps.
    pub(super) fn set(&self, steps: &[ResolvedStep], new: &Value) -> Result<Vec<Splice>, EditError> {
        let (mut node, mut holder, mut old) = (&self.root, NodeParent::Document, self.value);
        for (n, step) in steps.iter().enumerate() {
            if matches!(node.kind, NodeKind::Alias) {
                return Err(EditError::Anchored);
            }
            let Some(inner) = child(old, step) else {
                return self.insert(node, &holder, &steps[n..], new);
            };
            old = inner;
            (node, holder) = descend(node, step)?;
        }
        self.replace(node, &holder, new)
    }

    /// Splices that remove the value at the end of the steps.
    pub(super) fn remove(&self, steps: &[ResolvedStep]) -> Result<Vec<Splice>, EditError> {
        let (last, before) = steps.split_last().ok_or(EditError::NotFound)?;
        let (mut node, mut holder) = (&self.root, NodeParent::Document);
        for step in before {
            (node, holder) = descend(node, step)?;
        }
        match (&node.kind, last) {
            (NodeKind::Map { entries, .. }, ResolvedStep::Key(key)) => {
                let n = entries.iter().position(|entry| entry.name == *key).ok_or(EditError::Anchored)?;
                if entries[n].value.is_shared() || entries[n].key.is_shared() {
                    return Err(EditError::Anchored);
                }
                let parts: Vec<_> = entries.iter().map(|entry| entry.key.start..entry.end()).collect();
                match parts.len() {
                    1 => self.replace(node, &holder, &Value::Object(serde_json::Map::new())),
                    _ => self.remove_part(node, &parts, n),
                }
            }
            (NodeKind::List { items, .. }, ResolvedStep::Index(n)) => {
                if items.get(*n).ok_or(EditError::NotFound)?.value.is_shared() {
                    return Err(EditError::Anchored);
                }
                let begin = |item: &ListItem| item.dash.unwrap_or(item.value.start);
                let parts: Vec<_> = items.iter().map(|item| begin(item)..item.end()).collect();
                match parts.len() {
                    1 => self.replace(node, &holder, &Value::Array(Vec::new())),
                    _ => self.remove_part(node, &parts, *n),
                }
            }
            (NodeKind::Alias, _) => Err(EditError::Anchored),
            _ => Err(EditError::NotFound),
        }
    }

    /// Splices that remove one of the parts of a map or list.
    fn remove_part(
        &self,
        node: &YamlNode,
        parts: &[Range<usize>],
        n: usize,
    ) -> Result<Vec<Splice>, EditError> {
        let flow = matches!(node.kind, NodeKind::Map { flow: true, .. } | NodeKind::List { flow: true, .. });
        let (part, next) = (&parts[n], parts.get(n + 1).map(|next| next.start));
        let cut = match (flow, next) {
            (true, Some(next)) => part.start..next,
            (true, None) => parts[n - 1].end..part.end,
            (false, _) if self.begins_line(part.start) => self.line_range(part),
            (false, Some(next)) => part.start..next,
            (false, None) => return Err(EditError::UnsupportedNotation),
        };
        Ok(vec![(cut, String::new())])
    }

    /// Splices that add a missing value to a node.
    fn insert(
        &self,
        node: &YamlNode,
        holder: &NodeParent<'_>,
        steps: &[ResolvedStep],
        new: &Value,
    ) -> Result<Vec<Splice>, EditError> {
        let (step, rest) = steps.split_first().ok_or(EditError::NotFound)?;
        let value = nest_value(rest, new);
        match (&node.kind, step) {
            (NodeKind::Map { flow: true, entries }, ResolvedStep::Key(key)) if !entries.is_empty() => {
                let last = entries.last().ok_or(EditError::NotFound)?;
                let json = entries.iter().all(|entry| self.quotes_of(&entry.key) == Quotes::Double);
                Ok(vec![insertion(last.end(), format!(", {}", write::format_flow_entry(key, &value, json)))])
            }
            (NodeKind::List { flow: true, items }, ResolvedStep::End) if !items.is_empty() => {
                let last = items.last().ok_or(EditError::NotFound)?;
                let json = items.iter().all(|item| self.quotes_of(&item.value) == Quotes::Double);
                Ok(vec![insertion(last.end(), format!(", {}", write::format_flow(&value, json)))])
            }
            (NodeKind::Map { flow: false, entries }, ResolvedStep::Key(key)) => {
                let (first, last) = (entries.first(), entries.last());
                let (first, last) = first.zip(last).ok_or(EditError::UnsupportedNotation)?;
                let column = column(self.text, first.key.start);
                let text = format!(
                    "{}{}",
                    self.writer.break_line(column),
                    self.writer.format_entry(key, &value, column)
                );
                Ok(vec![insertion(self.line_end(last.end()), text)])
            }
            (NodeKind::List { flow: false, items }, ResolvedStep::End) => {
                let dash = items.first().and_then(|item| item.dash).ok_or(EditError::UnsupportedNotation)?;
                let last = items.last().ok_or(EditError::UnsupportedNotation)?;
                let column = column(self.text, dash);
                let text =
                    format!("{}{}", self.writer.break_line(column), self.writer.format_item(&value, column));
                Ok(vec![insertion(self.line_end(last.end()), text)])
            }
            // An empty container or a blank value is replaced.
            (NodeKind::Map { .. } | NodeKind::List { .. } | NodeKind::Scalar(_), _) => {
                self.replace(node, holder, &nest_value(steps, new))
            }
            (NodeKind::Alias, _) => Err(EditError::Anchored),
        }
    }

    /// Splices that replace a node by a value.
    fn replace(
        &self,
        node: &YamlNode,
        holder: &NodeParent<'_>,
        new: &Value,
    ) -> Result<Vec<Splice>, EditError> {
        if node.is_shared() {
            return Err(EditError::Anchored);
        }
        if node.tagged {
            return Err(EditError::UnsupportedNotation);
        }
        let in_flow = self.in_flow(node.start);
        match holder {
            _ if in_flow => {
                let json = self.quotes_of(node) == Quotes::Double;
                let text = match new {
                    Value::String(_) => write::format_scalar(new, self.quotes_of(node), true),
                    new => write::format_flow(new, json),
                };
                let gap = if node.is_blank() { " " } else { "" };
                Ok(vec![(node.start..node.end, format!("{gap}{text}"))])
            }
            NodeParent::Field(entry) => self.replace_field(entry, new),
            NodeParent::Item => {
                let column = column(self.text, node.start);
                let text = match new {
                    new if is_block(new) => self.writer.format_node(new, column),
                    new => self.writer.format_inline(new, self.retained_quotes(node), column),
                };
                let gap = if node.is_blank() { " " } else { "" };
                Ok(vec![(node.start..node.end, format!("{gap}{text}"))])
            }
            NodeParent::Document => Err(EditError::UnsupportedNotation),
        }
    }

    fn replace_field(&self, entry: &MapEntry, new: &Value) -> Result<Vec<Splice>, EditError> {
        let old = &entry.value;
        let colon = entry.colon.ok_or(EditError::UnsupportedNotation)?;
        let column = column(self.text, entry.key.start);
        let was_block =
            matches!(&old.kind, NodeKind::Map { flow: false, .. } | NodeKind::List { flow: false, .. });
        let line = self.line_end(colon);
        let text = match new {
            new if is_block(new) => self.writer.format_after_key(new, column),
            new => format!(" {}", self.writer.format_inline(new, self.retained_quotes(old), column + 2)),
        };
        if was_block && old.start < line {
            return Ok(vec![(colon..old.end, text)]);
        }
        Ok(match (was_block, is_block(new)) {
            // A comment behind the key on its line stays there.
            (true, true) => vec![(line..self.line_end(old.end), text)],
            (true, false) => vec![insertion(colon, text), (line..self.line_end(old.end), String::new())],
            (false, true) if old.is_blank() => vec![insertion(line, text)],
            (false, true) if self.line_end(old.end) == line => {
                vec![(colon..old.end, String::new()), insertion(line, text)]
            }
            (false, _) if old.is_blank() => vec![insertion(colon, text)],
            (false, _) => vec![(colon..old.end, text)],
        })
    }

    /// Whether an offset is inside of `{}` or `[]`.
    fn in_flow(&self, place: usize) -> bool {
        fn inside(node: &YamlNode, place: usize) -> bool {
            let around = node.start <= place && place <= node.end;
            match &node.kind {
                NodeKind::Map { flow: true, .. } | NodeKind::List { flow: true, .. } => {
                    node.start < place && place < node.end
                }
                NodeKind::Map { entries, .. } => {
                    around && entries.iter().any(|entry| inside(&entry.value, place))
                }
                NodeKind::List { items, .. } => around && items.iter().any(|item| inside(&item.value, place)),
                _ => false,
            }
        }
        inside(&self.root, place)
    }

    fn quotes_of(&self, node: &YamlNode) -> Quotes {
        match node.kind {
            NodeKind::Scalar(ScalarStyle::SingleQuoted) => Quotes::Single,
            NodeKind::Scalar(ScalarStyle::DoubleQuoted) => Quotes::Double,
            _ => Quotes::None,
        }
    }

    /// The quotes to retain for a new value. Quotes around an empty text are not retained.
    fn retained_quotes(&self, node: &YamlNode) -> Quotes {
        if node.end - node.start == 2 { Quotes::None } else { self.quotes_of(node) }
    }

    /// Whether only spaces precede the offset on its line.
    fn begins_line(&self, place: usize) -> bool {
        let head = &self.text[..place];
        let line = head.rfind('\n').map_or(0, |at| at + 1);
        head[line..].bytes().all(|b| b == b' ')
    }

    /// The whole lines of a part, with one line break.
    fn line_range(&self, part: &Range<usize>) -> Range<usize> {
        let start = self.text[..part.start].rfind('\n').map_or(0, |at| at + 1);
        match self.text[part.end..].find('\n') {
            Some(n) => start..part.end + n + 1,
            None => self.text[..start].trim_end_matches(['\r', '\n']).len()..self.text.len(),
        }
    }

    /// The end of the line of an offset, before its line break.
    fn line_end(&self, place: usize) -> usize {
        let line = self.text[place..].find('\n').map_or(self.text.len(), |n| place + n);
        if self.text[place..line].ends_with('\r') { line - 1 } else { line }
    }
}

fn insertion(place: usize, text: String) -> Splice {
    (place..place, text)
}

/// The child node that a step leads to, and its parent.
fn descend<'n>(node: &'n YamlNode, step: &ResolvedStep) -> Result<(&'n YamlNode, NodeParent<'n>), EditError> {
    match (&node.kind, step) {
        (NodeKind::Map { entries, .. }, ResolvedStep::Key(key)) => {
            // A field of the value without an entry here comes from a merged map.
            let entry = entries.iter().find(|entry| entry.name == *key).ok_or(EditError::Anchored)?;
            Ok((&entry.value, NodeParent::Field(entry)))
        }
        (NodeKind::List { items, .. }, ResolvedStep::Index(n)) => {
            Ok((&items.get(*n).ok_or(EditError::NotFound)?.value, NodeParent::Item))
        }
        (NodeKind::Alias, _) => Err(EditError::Anchored),
        _ => Err(EditError::NotFound),
    }
}
