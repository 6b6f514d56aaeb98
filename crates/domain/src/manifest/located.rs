//! A document as JSON, with the place of every field.
//!
//! The parser has no value tree of its own, but hands out the place of anything it reads (`Spanned`). One pass builds
//! both: the JSON value, and a tree of the same shape that holds nothing but places.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::{Location, Spanned};

use crate::finding::Place;

/// Said of keys that are lists, maps or nothing.
pub(super) const NO_KEY: &str = "a key must be text";

/// Largest integer that a 64-bit float holds exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A line and a column, from 1, and the byte of the document that stands there, if it is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Spot {
    pub line: u32,
    pub column: u32,
    pub byte: Option<u32>,
}

impl Spot {
    /// The spot of a location inside a document that begins at `first_line` of its file.
    pub(super) fn of(location: Location, first_line: u32) -> Self {
        let line = u32::try_from(location.line()).unwrap_or(u32::MAX).max(1);
        let column = u32::try_from(location.column()).unwrap_or(u32::MAX).max(1);
        let byte = location.span().byte_offset().and_then(|byte| u32::try_from(byte).ok());
        Self { line: first_line.saturating_add(line - 1), column, byte }
    }

    pub(super) fn in_file(self, file: &str) -> Place {
        Place { file: file.to_owned(), line: self.line, column: self.column }
    }
}

/// The places of a value and of everything in it. A field of a map is where its key is.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Tree {
    pub spot: Spot,
    children: Children,
}

#[derive(Debug, Clone, Default, PartialEq)]
enum Children {
    #[default]
    None,
    List(Vec<Tree>),
    Map(BTreeMap<String, Tree>),
}

impl Tree {
    /// The spot at a JSON pointer, or of the nearest parent; `None` for a tree without places.
    pub(super) fn spot_of(&self, pointer: &str) -> Option<Spot> {
        let mut at = self;
        for part in pointer.split('/').skip(1) {
            match at.child(&part.replace("~1", "/").replace("~0", "~")) {
                Some(child) => at = child,
                None => break,
            }
        }
        (at.spot.line > 0).then_some(at.spot)
    }

    /// The byte of the document where the key of the field at a JSON pointer stands; `None` if that field is not there.
    pub(super) fn byte_of(&self, pointer: &str) -> Option<usize> {
        let mut at = self;
        for part in pointer.split('/').skip(1) {
            at = at.child(&part.replace("~1", "/").replace("~0", "~"))?;
        }
        usize::try_from(at.spot.byte?).ok()
    }

    fn child(&self, part: &str) -> Option<&Self> {
        match &self.children {
            Children::None => None,
            Children::List(items) => items.get(part.parse::<usize>().ok()?),
            Children::Map(fields) => fields.get(part),
        }
    }

    /// The trees of the items of the list in the field `key`, taken out.
    pub(super) fn take_items(&mut self, key: &str) -> Vec<Self> {
        let Children::Map(fields) = &mut self.children else { return Vec::new() };
        match fields.remove(key).map(|list| list.children) {
            Some(Children::List(items)) => items,
            _ => Vec::new(),
        }
    }
}

/// A key that stands twice in one map.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Duplicate {
    pub key: String,
    pub first: Spot,
    pub second: Spot,
}

/// A document that could be read.
pub(super) struct Located {
    pub value: Value,
    pub tree: Tree,
    /// How many values it holds.
    pub nodes: usize,
    pub duplicates: Vec<Duplicate>,
}

impl Located {
    pub(super) fn build(node: Spanned<Node>, first_line: u32) -> Self {
        let mut builder = Builder { first_line, nodes: 0, duplicates: Vec::new() };
        let spot = Spot::of(node.referenced, first_line);
        let (value, tree) = builder.value(node.value, spot);
        Self { value, tree, nodes: builder.nodes, duplicates: builder.duplicates }
    }
}

struct Builder {
    first_line: u32,
    nodes: usize,
    duplicates: Vec<Duplicate>,
}

impl Builder {
    fn value(&mut self, node: Node, spot: Spot) -> (Value, Tree) {
        self.nodes += 1;
        let (value, children) = match node {
            Node::Leaf(value) => (*value, Children::None),
            Node::List(items) => {
                let (values, trees) = items.into_iter().map(|item| self.item(item, spot)).unzip();
                (Value::Array(values), Children::List(trees))
            }
            Node::Map(entries) => self.map(entries),
        };
        (value, Tree { spot, children })
    }

    /// An item of a list; without keys it is where the list is.
    fn item(&mut self, item: Node, list: Spot) -> (Value, Tree) {
        let spot = match &item {
            Node::Map(entries) => entries.first().map(|(key, _)| Spot::of(key.referenced, self.first_line)),
            _ => None,
        };
        self.value(item, spot.unwrap_or(list))
    }

    /// The first of two equal keys stays, so that the rest of the object can still be checked.
    fn map(&mut self, entries: Vec<(Spanned<Key>, Node)>) -> (Value, Children) {
        let (mut values, mut trees) = (Map::new(), BTreeMap::<String, Tree>::new());
        for (key, node) in entries {
            let spot = Spot::of(key.referenced, self.first_line);
            let Key(key) = key.value;
            let (value, tree) = self.value(node, spot);
            if let Some(first) = trees.get(&key) {
                self.duplicates.push(Duplicate { key, first: first.spot, second: spot });
                continue;
            }
            trees.insert(key.clone(), tree);
            values.insert(key, value);
        }
        (Value::Object(values), Children::Map(trees))
    }
}

/// A value as the parser hands it out. Only keys carry a place: asking for the place of a value doubles the depth of
/// the recursion, and the stack of a browser is small. An item of a list is where its first key is.
pub(super) enum Node {
    Leaf(Box<Value>),
    List(Vec<Node>),
    Map(Vec<(Spanned<Key>, Node)>),
}

fn leaf(value: impl Into<Value>) -> Node {
    Node::Leaf(Box::new(value.into()))
}

/// A key of a map: text in JSON, whatever it was in YAML.
pub(super) struct Key(String);

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Node::Leaf(value) = deserializer.deserialize_any(NodeVisitor)? else {
            return Err(D::Error::custom(NO_KEY));
        };
        match *value {
            Value::String(text) => Ok(Self(text)),
            Value::Bool(_) | Value::Number(_) => Ok(Self(value.to_string())),
            _ => Err(D::Error::custom(NO_KEY)),
        }
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(leaf(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(leaf(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(leaf(value))
    }

    /// `12e3`, `08` and `1.0` are integers to `kubectl`, which goes through JSON.
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Node, E> {
        if value.fract() == 0.0 && value.abs() <= EXACT {
            #[expect(clippy::cast_possible_truncation, reason = "an integer of at most 53 bits")]
            return Ok(leaf(value as i64));
        }
        let number = Number::from_f64(value).ok_or_else(|| E::custom("JSON has no such number"))?;
        Ok(leaf(number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(leaf(value))
    }

    fn visit_string<E>(self, value: String) -> Result<Node, E> {
        Ok(leaf(value))
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(leaf(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }
}
