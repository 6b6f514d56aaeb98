//! The nodes of a document with their byte ranges.

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::EditError;

/// A node. `start..end` is its text; a block map or list ends with its last entry.
#[derive(Debug, Clone)]
pub(super) struct YamlNode {
    pub start: usize,
    pub end: usize,
    pub kind: NodeKind,
    /// Whether it has an anchor itself.
    pub anchored: bool,
    /// Whether it has a tag itself.
    pub tagged: bool,
}

/// The kind of a node.
#[derive(Debug, Clone)]
pub(super) enum NodeKind {
    Scalar(ScalarStyle),
    Alias,
    Map { flow: bool, entries: Vec<MapEntry> },
    List { flow: bool, items: Vec<ListItem> },
}

/// A field of a map.
#[derive(Debug, Clone)]
pub(super) struct MapEntry {
    pub key: YamlNode,
    /// The key as text.
    pub name: String,
    /// The offset behind the colon; `None` without one.
    pub colon: Option<usize>,
    pub value: YamlNode,
}

/// An item of a list.
#[derive(Debug, Clone)]
pub(super) struct ListItem {
    /// The offset of the dash in a block list.
    pub dash: Option<usize>,
    pub value: YamlNode,
}

impl YamlNode {
    /// Parses a document; returns its root.
    pub(super) fn parse_document(text: &str) -> Result<Self, EditError> {
        let mut reader = NodeReader { text, parser: Parser::new_from_str(text), at: 0 };
        loop {
            let (event, span) = reader.next_event()?;
            match event {
                Event::StreamStart | Event::DocumentStart(..) => {}
                event => return reader.read_node(event, span),
            }
        }
    }

    /// Whether it is the empty value behind a colon or a dash.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.kind, NodeKind::Scalar(_)) && self.start == self.end
    }

    /// Whether it or anything in it has an anchor, or is an alias.
    pub(super) fn is_shared(&self) -> bool {
        self.anchored
            || match &self.kind {
                NodeKind::Scalar(_) => false,
                NodeKind::Alias => true,
                NodeKind::Map { entries, .. } => {
                    entries.iter().any(|entry| entry.key.is_shared() || entry.value.is_shared())
                }
                NodeKind::List { items, .. } => items.iter().any(|item| item.value.is_shared()),
            }
    }
}

impl MapEntry {
    /// The offset behind its last byte.
    pub(super) fn end(&self) -> usize {
        self.value.end.max(self.colon.unwrap_or(self.key.end))
    }
}

impl ListItem {
    /// The offset behind its last byte.
    pub(super) fn end(&self) -> usize {
        self.value.end.max(self.dash.map_or(0, |dash| dash + 1))
    }
}

struct NodeReader<'a> {
    text: &'a str,
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    /// The end of the text read so far. A blank node begins here, not at the later position that the parser reports.
    at: usize,
}

impl<'a> NodeReader<'a> {
    fn next_event(&mut self) -> Result<(Event<'a>, Span), EditError> {
        loop {
            let (event, span) = self
                .parser
                .next_event()
                .ok_or(EditError::InvalidYaml)?
                .map_err(|_| EditError::InvalidYaml)?;
            if !matches!(event, Event::Comment(..)) {
                return Ok((event, span));
            }
        }
    }

    fn read_node(&mut self, event: Event<'a>, span: Span) -> Result<YamlNode, EditError> {
        let range = span.byte_range().ok_or(EditError::UnsupportedNotation)?;
        let (start, end) = (range.start, range.end);
        let node = match event {
            Event::Scalar(_, style, anchor, tag) => {
                let (start, end) = self.scalar_range(style, start, end)?;
                YamlNode {
                    start,
                    end,
                    kind: NodeKind::Scalar(style),
                    anchored: anchor != 0,
                    tagged: tag.is_some(),
                }
            }
            Event::Alias(_) => YamlNode { start, end, kind: NodeKind::Alias, anchored: false, tagged: false },
            Event::MappingStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let (entries, end) = self.read_entries(flow, end)?;
                let start = entries.first().filter(|_| !flow).map_or(start, |entry| entry.key.start);
                YamlNode {
                    start,
                    end,
                    kind: NodeKind::Map { flow, entries },
                    anchored: anchor != 0,
                    tagged: tag.is_some(),
                }
            }
            Event::SequenceStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let (items, end) = self.read_items(flow, end)?;
                let start = items.first().filter(|_| !flow).map_or(start, |item| item.dash.unwrap_or(start));
                YamlNode {
                    start,
                    end,
                    kind: NodeKind::List { flow, items },
                    anchored: anchor != 0,
                    tagged: tag.is_some(),
                }
            }
            _ => return Err(EditError::InvalidYaml),
        };
        self.at = self.at.max(node.end);
        Ok(node)
    }

    fn scalar_range(
        &self,
        style: ScalarStyle,
        start: usize,
        end: usize,
    ) -> Result<(usize, usize), EditError> {
        let text = self.text.get(start..end).ok_or(EditError::UnsupportedNotation)?;
        match style {
            _ if start == end => Ok((self.at, self.at)),
            // The block header is part of the scalar, trailing empty lines are not.
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let from = self.text.get(self.at..).ok_or(EditError::UnsupportedNotation)?;
                let header = from.find(['|', '>']).ok_or(EditError::UnsupportedNotation)?;
                let start = start.min(self.at + header);
                let text = self.text.get(start..end).ok_or(EditError::UnsupportedNotation)?;
                Ok((start, start + text.trim_end().len()))
            }
            _ => Ok((start, start + text.trim_end().len())),
        }
    }

    fn read_entries(&mut self, flow: bool, start: usize) -> Result<(Vec<MapEntry>, usize), EditError> {
        self.at = self.at.max(start);
        let mut entries: Vec<MapEntry> = Vec::new();
        loop {
            let (event, span) = self.next_event()?;
            if matches!(event, Event::MappingEnd) {
                let end =
                    if flow { span.byte_range().ok_or(EditError::UnsupportedNotation)?.end } else { self.at };
                return Ok((entries, end));
            }
            let name = match &event {
                Event::Scalar(text, ..) => text.to_string(),
                _ => String::new(),
            };
            let key = self.read_node(event, span)?;
            let rest = self.text.get(key.end..).ok_or(EditError::UnsupportedNotation)?;
            let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let colon = rest[gap..].starts_with(':').then_some(key.end + gap + 1);
            self.at = self.at.max(colon.unwrap_or(key.end));
            let (event, span) = self.next_event()?;
            let value = self.read_node(event, span)?;
            entries.push(MapEntry { key, name, colon, value });
        }
    }

    fn read_items(&mut self, flow: bool, start: usize) -> Result<(Vec<ListItem>, usize), EditError> {
        self.at = if flow { self.at.max(start) } else { self.at };
        let mut items: Vec<ListItem> = Vec::new();
        loop {
            let (event, span) = self.next_event()?;
            if matches!(event, Event::SequenceEnd) {
                let end =
                    if flow { span.byte_range().ok_or(EditError::UnsupportedNotation)?.end } else { self.at };
                return Ok((items, end));
            }
            let dash = if flow { None } else { Some(self.find_dash()?) };
            self.at = dash.map_or(self.at, |dash| dash + 1);
            let value = self.read_node(event, span)?;
            items.push(ListItem { dash, value });
        }
    }

    /// The offset of the next dash, after white space and comments.
    fn find_dash(&self) -> Result<usize, EditError> {
        let mut at = self.at;
        loop {
            let rest = self.text.get(at..).ok_or(EditError::UnsupportedNotation)?;
            let skipped = rest.len() - rest.trim_start().len();
            let rest = &rest[skipped..];
            at += skipped;
            match rest.as_bytes().first() {
                Some(b'-') => return Ok(at),
                Some(b'#') => at += rest.find('\n').unwrap_or(rest.len()),
                // An anchor or a tag of the list precedes its first dash.
                Some(b'&' | b'!') => at += rest.find(char::is_whitespace).unwrap_or(rest.len()),
                _ => return Err(EditError::UnsupportedNotation),
            }
        }
    }
}
