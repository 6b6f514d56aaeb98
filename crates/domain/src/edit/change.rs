//! Where to cut and what to put in.

use std::ops::Range;

use granit_parser::ScalarStyle;
use serde_json::Value;

use super::Refused;
use super::apply::{Step, child, wrapped};
use super::nodes::{Entry, Item, Kind, Node};
use super::style::{Style, column};
use super::write::{self, Quotes, Writer, is_block};
use crate::manifest::Document;

/// A cut: these bytes become this text.
pub(super) type Splice = (Range<usize>, String);

/// The text after all cuts; `None` if they overlap or split a character.
pub(super) fn spliced(text: &str, mut splices: Vec<Splice>) -> Option<String> {
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

/// What holds a node.
enum Holder<'n> {
    Document,
    Field(&'n Entry),
    Item,
}

/// A document to change.
pub(super) struct Editor<'a> {
    text: &'a str,
    value: &'a Value,
    root: Node,
    writer: Writer,
}

impl<'a> Editor<'a> {
    pub(super) fn new(document: &Document<'a>, value: &'a Value) -> Result<Self, Refused> {
        let root = Node::root(document.text)?;
        let writer = Writer::new(Style::of(document.text, &root));
        Ok(Self { text: document.text, value, root, writer })
    }

    /// Cuts that set the value at the end of the steps.
    pub(super) fn set(&self, steps: &[Step], new: &Value) -> Result<Vec<Splice>, Refused> {
        let (mut node, mut holder, mut old) = (&self.root, Holder::Document, self.value);
        for (n, step) in steps.iter().enumerate() {
            if matches!(node.kind, Kind::Alias) {
                return Err(Refused::Shared);
            }
            let Some(inner) = child(old, step) else {
                return self.insert(node, &holder, &steps[n..], new);
            };
            old = inner;
            (node, holder) = down(node, step)?;
        }
        self.replace(node, &holder, new)
    }

    /// Cuts that take out what the steps lead to.
    pub(super) fn remove(&self, steps: &[Step]) -> Result<Vec<Splice>, Refused> {
        let (last, before) = steps.split_last().ok_or(Refused::NotThere)?;
        let (mut node, mut holder) = (&self.root, Holder::Document);
        for step in before {
            (node, holder) = down(node, step)?;
        }
        match (&node.kind, last) {
            (Kind::Map { entries, .. }, Step::Key(key)) => {
                let n = entries.iter().position(|entry| entry.name == *key).ok_or(Refused::Shared)?;
                if entries[n].value.is_shared() || entries[n].key.is_shared() {
                    return Err(Refused::Shared);
                }
                let parts: Vec<_> = entries.iter().map(|entry| entry.key.start..entry.end()).collect();
                match parts.len() {
                    1 => self.replace(node, &holder, &Value::Object(serde_json::Map::new())),
                    _ => self.take(node, &parts, n),
                }
            }
            (Kind::List { items, .. }, Step::Index(n)) => {
                if items.get(*n).ok_or(Refused::NotThere)?.value.is_shared() {
                    return Err(Refused::Shared);
                }
                let begin = |item: &Item| item.dash.unwrap_or(item.value.start);
                let parts: Vec<_> = items.iter().map(|item| begin(item)..item.end()).collect();
                match parts.len() {
                    1 => self.replace(node, &holder, &Value::Array(Vec::new())),
                    _ => self.take(node, &parts, *n),
                }
            }
            (Kind::Alias, _) => Err(Refused::Shared),
            _ => Err(Refused::NotThere),
        }
    }

    /// Takes one of the parts of a map or list out.
    fn take(&self, node: &Node, parts: &[Range<usize>], n: usize) -> Result<Vec<Splice>, Refused> {
        let flow = matches!(node.kind, Kind::Map { flow: true, .. } | Kind::List { flow: true, .. });
        let (part, next) = (&parts[n], parts.get(n + 1).map(|next| next.start));
        let cut = match (flow, next) {
            (true, Some(next)) => part.start..next,
            (true, None) => parts[n - 1].end..part.end,
            (false, _) if self.begins_line(part.start) => self.lines(part),
            (false, Some(next)) => part.start..next,
            (false, None) => return Err(Refused::Notation),
        };
        Ok(vec![(cut, String::new())])
    }

    /// Cuts that put what is not there yet into a node.
    fn insert(
        &self,
        node: &Node,
        holder: &Holder<'_>,
        steps: &[Step],
        new: &Value,
    ) -> Result<Vec<Splice>, Refused> {
        let (step, rest) = steps.split_first().ok_or(Refused::NotThere)?;
        let value = wrapped(rest, new);
        match (&node.kind, step) {
            (Kind::Map { flow: true, entries }, Step::Key(key)) if !entries.is_empty() => {
                let last = entries.last().ok_or(Refused::NotThere)?;
                let json = entries.iter().all(|entry| self.quotes(&entry.key) == Quotes::Double);
                Ok(vec![at(last.end(), format!(", {}", write::flow_entry(key, &value, json)))])
            }
            (Kind::List { flow: true, items }, Step::End) if !items.is_empty() => {
                let last = items.last().ok_or(Refused::NotThere)?;
                let json = items.iter().all(|item| self.quotes(&item.value) == Quotes::Double);
                Ok(vec![at(last.end(), format!(", {}", write::flow(&value, json)))])
            }
            (Kind::Map { flow: false, entries }, Step::Key(key)) => {
                let (first, last) = (entries.first(), entries.last());
                let (first, last) = first.zip(last).ok_or(Refused::Notation)?;
                let column = column(self.text, first.key.start);
                let text = format!("{}{}", self.writer.line(column), self.writer.entry(key, &value, column));
                Ok(vec![at(self.line_end(last.end()), text)])
            }
            (Kind::List { flow: false, items }, Step::End) => {
                let dash = items.first().and_then(|item| item.dash).ok_or(Refused::Notation)?;
                let last = items.last().ok_or(Refused::Notation)?;
                let column = column(self.text, dash);
                let text = format!("{}{}", self.writer.line(column), self.writer.item(&value, column));
                Ok(vec![at(self.line_end(last.end()), text)])
            }
            // Empty, or nothing at all: it becomes what is asked for.
            (Kind::Map { .. } | Kind::List { .. } | Kind::Scalar(_), _) => {
                self.replace(node, holder, &wrapped(steps, new))
            }
            (Kind::Alias, _) => Err(Refused::Shared),
        }
    }

    /// Cuts that put a value in the place of a node.
    fn replace(&self, node: &Node, holder: &Holder<'_>, new: &Value) -> Result<Vec<Splice>, Refused> {
        if node.is_shared() {
            return Err(Refused::Shared);
        }
        if node.tagged {
            return Err(Refused::Notation);
        }
        let in_flow = self.in_flow(node.start);
        match holder {
            _ if in_flow => {
                let json = self.quotes(node) == Quotes::Double;
                let text = match new {
                    Value::String(_) => write::scalar(new, self.quotes(node), true),
                    new => write::flow(new, json),
                };
                let gap = if node.is_blank() { " " } else { "" };
                Ok(vec![(node.start..node.end, format!("{gap}{text}"))])
            }
            Holder::Field(entry) => self.replace_field(entry, new),
            Holder::Item => {
                let column = column(self.text, node.start);
                let text = match new {
                    new if is_block(new) => self.writer.node(new, column),
                    new => self.writer.short(new, self.habit(node), column),
                };
                let gap = if node.is_blank() { " " } else { "" };
                Ok(vec![(node.start..node.end, format!("{gap}{text}"))])
            }
            Holder::Document => Err(Refused::Notation),
        }
    }

    fn replace_field(&self, entry: &Entry, new: &Value) -> Result<Vec<Splice>, Refused> {
        let old = &entry.value;
        let colon = entry.colon.ok_or(Refused::Notation)?;
        let column = column(self.text, entry.key.start);
        let was_block = matches!(&old.kind, Kind::Map { flow: false, .. } | Kind::List { flow: false, .. });
        let line = self.line_end(colon);
        let text = match new {
            new if is_block(new) => self.writer.after_key(new, column),
            new => format!(" {}", self.writer.short(new, self.habit(old), column + 2)),
        };
        if was_block && old.start < line {
            return Ok(vec![(colon..old.end, text)]);
        }
        Ok(match (was_block, is_block(new)) {
            // What stands behind the key on its line, a comment, stays there.
            (true, true) => vec![(line..self.line_end(old.end), text)],
            (true, false) => vec![at(colon, text), (line..self.line_end(old.end), String::new())],
            (false, true) if old.is_blank() => vec![at(line, text)],
            (false, true) if self.line_end(old.end) == line => {
                vec![(colon..old.end, String::new()), at(line, text)]
            }
            (false, _) if old.is_blank() => vec![at(colon, text)],
            (false, _) => vec![(colon..old.end, text)],
        })
    }

    /// Whether a place is inside of `{}` or `[]`.
    fn in_flow(&self, place: usize) -> bool {
        fn inside(node: &Node, place: usize) -> bool {
            let around = node.start <= place && place <= node.end;
            match &node.kind {
                Kind::Map { flow: true, .. } | Kind::List { flow: true, .. } => {
                    node.start < place && place < node.end
                }
                Kind::Map { entries, .. } => {
                    around && entries.iter().any(|entry| inside(&entry.value, place))
                }
                Kind::List { items, .. } => around && items.iter().any(|item| inside(&item.value, place)),
                _ => false,
            }
        }
        inside(&self.root, place)
    }

    fn quotes(&self, node: &Node) -> Quotes {
        match node.kind {
            Kind::Scalar(ScalarStyle::SingleQuoted) => Quotes::Single,
            Kind::Scalar(ScalarStyle::DoubleQuoted) => Quotes::Double,
            _ => Quotes::None,
        }
    }

    /// The quotes that a new text gets too. Those around nothing say only that there is nothing.
    fn habit(&self, node: &Node) -> Quotes {
        if node.end - node.start == 2 { Quotes::None } else { self.quotes(node) }
    }

    /// Whether there are only blanks before it on its line.
    fn begins_line(&self, place: usize) -> bool {
        let head = &self.text[..place];
        let line = head.rfind('\n').map_or(0, |at| at + 1);
        head[line..].bytes().all(|b| b == b' ')
    }

    /// The whole lines of a part, with one line end.
    fn lines(&self, part: &Range<usize>) -> Range<usize> {
        let start = self.text[..part.start].rfind('\n').map_or(0, |at| at + 1);
        match self.text[part.end..].find('\n') {
            Some(n) => start..part.end + n + 1,
            None => self.text[..start].trim_end_matches(['\r', '\n']).len()..self.text.len(),
        }
    }

    /// The end of the line of a place, before its line end.
    fn line_end(&self, place: usize) -> usize {
        let line = self.text[place..].find('\n').map_or(self.text.len(), |n| place + n);
        if self.text[place..line].ends_with('\r') { line - 1 } else { line }
    }
}

fn at(place: usize, text: String) -> Splice {
    (place..place, text)
}

/// The node one step further, and what holds it.
fn down<'n>(node: &'n Node, step: &Step) -> Result<(&'n Node, Holder<'n>), Refused> {
    match (&node.kind, step) {
        (Kind::Map { entries, .. }, Step::Key(key)) => {
            // A field that is there but not written here comes out of another map.
            let entry = entries.iter().find(|entry| entry.name == *key).ok_or(Refused::Shared)?;
            Ok((&entry.value, Holder::Field(entry)))
        }
        (Kind::List { items, .. }, Step::Index(n)) => {
            Ok((&items.get(*n).ok_or(Refused::NotThere)?.value, Holder::Item))
        }
        (Kind::Alias, _) => Err(Refused::Shared),
        _ => Err(Refused::NotThere),
    }
}
