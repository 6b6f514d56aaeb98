//! A document as JSON, with the position of every field.
//!
//! The parser has no value tree, but returns the location of every value it reads (`Spanned`). One pass builds both:
//! the JSON value, and a tree of the same shape that contains only positions.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use super::plain_scalar::TextShifts;
use crate::text::finding::SourceLocation;

/// The error for keys that are lists, maps or null.
pub(super) const INVALID_KEY: &str = "a key must be text";

/// Most bytes of a key: paths repeat the keys above every field. Kubernetes allows 317 in annotations, and 253 in data.
pub(super) const MAX_KEY_BYTES: usize = 4 << 10;

/// The error for keys with more than [`MAX_KEY_BYTES`].
pub(super) const LONG_KEY: &str = "a key must not be longer than 4096 bytes";

/// Largest integer that a 64-bit float holds exactly.
const MAX_EXACT_INTEGER: f64 = 9_007_199_254_740_992.0;

/// A line and a column, from 1, and the byte offset in the document, if it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct TextPosition {
    pub line: u32,
    pub column: u32,
    pub byte: Option<u32>,
}

impl TextPosition {
    /// The position in the file of a location inside a document that begins at `first_line`.
    pub(super) fn from_location(location: Location, first_line: u32) -> Self {
        let line = u32::try_from(location.line()).unwrap_or(u32::MAX).max(1);
        let column = u32::try_from(location.column()).unwrap_or(u32::MAX).max(1);
        let byte = location.span().byte_offset().and_then(|byte| u32::try_from(byte).ok());
        Self { line: first_line.saturating_add(line - 1), column, byte }
    }

    pub(super) fn in_file(self, file: &str) -> SourceLocation {
        SourceLocation { file: file.to_owned(), line: self.line, column: self.column }
    }
}

/// The positions of a value and of everything in it. A field of a map has the position of its key.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PositionTree {
    pub position: TextPosition,
    children: Children,
}

#[derive(Debug, Clone, Default, PartialEq)]
enum Children {
    #[default]
    None,
    List(Vec<PositionTree>),
    Map(BTreeMap<String, PositionTree>),
}

impl PositionTree {
    /// The position at a JSON pointer, or of the nearest parent; `None` for a tree without positions.
    pub(super) fn position_of(&self, pointer: &str) -> Option<TextPosition> {
        let mut at = self;
        for part in pointer.split('/').skip(1) {
            match at.child(&part.replace("~1", "/").replace("~0", "~")) {
                Some(child) => at = child,
                None => break,
            }
        }
        (at.position.line > 0).then_some(at.position)
    }

    /// The byte offset of the key of the field at a JSON pointer; `None` if that field does not exist.
    pub(super) fn byte_offset_of(&self, pointer: &str) -> Option<usize> {
        let mut at = self;
        for part in pointer.split('/').skip(1) {
            at = at.child(&part.replace("~1", "/").replace("~0", "~"))?;
        }
        usize::try_from(at.position.byte?).ok()
    }

    fn child(&self, part: &str) -> Option<&Self> {
        match &self.children {
            Children::None => None,
            Children::List(items) => items.get(part.parse::<usize>().ok()?),
            Children::Map(fields) => fields.get(part),
        }
    }

    /// Removes the list at this path of fields; returns the trees of its items.
    pub(super) fn take_items(&mut self, path: &[&str]) -> Vec<Self> {
        let (Children::Map(fields), Some((key, rest))) = (&mut self.children, path.split_first()) else {
            return Vec::new();
        };
        match fields.remove(*key) {
            Some(Self { children: Children::List(items), .. }) if rest.is_empty() => items,
            Some(mut child) => child.take_items(rest),
            None => Vec::new(),
        }
    }
}

/// A duplicate key of a map.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DuplicateKey {
    pub key: String,
    pub first: TextPosition,
    pub second: TextPosition,
}

/// A parsed document.
pub(super) struct LocatedValue {
    pub value: Value,
    pub tree: PositionTree,
    /// How many values it holds.
    pub nodes: usize,
    pub duplicates: Vec<DuplicateKey>,
}

impl LocatedValue {
    pub(super) fn build(node: Spanned<ParsedNode>, first_line: u32, shifts: &TextShifts) -> Self {
        let mut builder = LocatedValueBuilder { first_line, shifts, nodes: 0, duplicates: Vec::new() };
        let position = builder.position_at(node.referenced);
        let (value, tree) = builder.build_value(node.value, position);
        Self { value, tree, nodes: builder.nodes, duplicates: builder.duplicates }
    }
}

struct LocatedValueBuilder<'a> {
    first_line: u32,
    shifts: &'a TextShifts,
    nodes: usize,
    duplicates: Vec<DuplicateKey>,
}

impl LocatedValueBuilder<'_> {
    /// The position in the document of a location in the text that was parsed.
    fn position_at(&self, location: Location) -> TextPosition {
        let mut position = TextPosition::from_location(location, self.first_line);
        if let Some(byte) = position.byte {
            let line = position.line.saturating_sub(self.first_line) + 1;
            let (bytes, columns) = self.shifts.shift_at(byte, line);
            let moved = |from: u32, by: i64| u32::try_from(i64::from(from) - by).unwrap_or(from);
            position.column = moved(position.column, columns);
            position.byte = Some(moved(byte, bytes));
        }
        position
    }

    fn build_value(&mut self, node: ParsedNode, position: TextPosition) -> (Value, PositionTree) {
        self.nodes += 1;
        let (value, children) = match node {
            ParsedNode::Leaf(value) => (*value, Children::None),
            ParsedNode::List(items) => {
                let (values, trees) = items.into_iter().map(|item| self.build_item(item, position)).unzip();
                (Value::Array(values), Children::List(trees))
            }
            ParsedNode::Map(entries) => self.build_map(entries),
        };
        (value, PositionTree { position, children })
    }

    /// An item of a list; without keys it has the position of the list.
    fn build_item(&mut self, item: ParsedNode, list: TextPosition) -> (Value, PositionTree) {
        let position = match &item {
            ParsedNode::Map(entries) => entries.first().map(|(key, _)| self.position_at(key.referenced)),
            _ => None,
        };
        self.build_value(item, position.unwrap_or(list))
    }

    /// The first of two equal keys stays, so that the rest of the object can still be checked.
    fn build_map(&mut self, entries: Vec<(Spanned<MapKey>, ParsedNode)>) -> (Value, Children) {
        let (mut values, mut trees) = (Map::new(), BTreeMap::<String, PositionTree>::new());
        for (key, node) in entries {
            let position = self.position_at(key.referenced);
            let MapKey(key) = key.value;
            let (value, tree) = self.build_value(node, position);
            if let Some(first) = trees.get(&key) {
                self.duplicates.push(DuplicateKey { key, first: first.position, second: position });
                continue;
            }
            trees.insert(key.clone(), tree);
            values.insert(key, value);
        }
        (Value::Object(values), Children::Map(trees))
    }
}

/// A value as the parser returns it. Only keys carry a location: the location of a value would double the depth of the
/// recursion, and the stack of a browser is small. An item of a list has the position of its first key.
pub(super) enum ParsedNode {
    Leaf(Box<Value>),
    List(Vec<ParsedNode>),
    Map(Vec<(Spanned<MapKey>, ParsedNode)>),
}

fn leaf(value: impl Into<Value>) -> ParsedNode {
    ParsedNode::Leaf(Box::new(value.into()))
}

/// A key of a map: text in JSON, whatever it was in YAML.
pub(super) struct MapKey(String);

impl<'de> Deserialize<'de> for ParsedNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

impl<'de> Deserialize<'de> for MapKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ParsedNode::Leaf(value) = deserializer.deserialize_any(NodeVisitor)? else {
            return Err(D::Error::custom(INVALID_KEY));
        };
        match *value {
            Value::String(text) if text.len() > MAX_KEY_BYTES => Err(D::Error::custom(LONG_KEY)),
            Value::String(text) => Ok(Self(text)),
            Value::Bool(_) | Value::Number(_) => Ok(Self(value.to_string())),
            _ => Err(D::Error::custom(INVALID_KEY)),
        }
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = ParsedNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<ParsedNode, E> {
        Ok(leaf(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<ParsedNode, E> {
        Ok(leaf(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<ParsedNode, E> {
        Ok(leaf(value))
    }

    /// `12e3`, `08` and `1.0` are integers in `kubectl`, which converts to JSON.
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<ParsedNode, E> {
        if value.fract() == 0.0 && value.abs() <= MAX_EXACT_INTEGER {
            #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 53 bits")]
            return Ok(leaf(value as i64));
        }
        let number = Number::from_f64(value).ok_or_else(|| E::custom("JSON has no such number"))?;
        Ok(leaf(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<ParsedNode, E> {
        Ok(leaf(value))
    }

    fn visit_string<E>(self, value: String) -> Result<ParsedNode, E> {
        Ok(leaf(value))
    }

    fn visit_unit<E>(self) -> Result<ParsedNode, E> {
        Ok(leaf(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<ParsedNode, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(ParsedNode::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<ParsedNode, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(ParsedNode::Map(entries))
    }
}
