//! The nodes of a document with the bytes they take.

use granit_parser::{Event, Parser, ScalarStyle, Span, StructureStyle};

use super::Refused;

/// A node. `start..end` is its text; the end of a block map or list is the end of the last thing in it.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub start: usize,
    pub end: usize,
    pub kind: Kind,
    /// It has an anchor of its own.
    pub anchored: bool,
    /// It has a tag of its own.
    pub tagged: bool,
}

/// What a node is.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Scalar(ScalarStyle),
    Alias,
    Map { flow: bool, entries: Vec<Entry> },
    List { flow: bool, items: Vec<Item> },
}

/// A field of a map.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub key: Node,
    /// The key as text.
    pub name: String,
    /// Behind the colon; `None` where there is none.
    pub colon: Option<usize>,
    pub value: Node,
}

/// An item of a list.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// The dash of a block list.
    pub dash: Option<usize>,
    pub value: Node,
}

impl Node {
    /// The root of a document.
    pub(super) fn root(text: &str) -> Result<Self, Refused> {
        let mut reader = Reader { text, parser: Parser::new_from_str(text), at: 0 };
        loop {
            let (event, span) = reader.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(..) => {}
                event => return reader.node(event, span),
            }
        }
    }

    /// Whether it is the nothing behind a colon or a dash.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self.kind, Kind::Scalar(_)) && self.start == self.end
    }

    /// Whether it or anything in it has an anchor, or is an alias.
    pub(super) fn is_shared(&self) -> bool {
        self.anchored
            || match &self.kind {
                Kind::Scalar(_) => false,
                Kind::Alias => true,
                Kind::Map { entries, .. } => {
                    entries.iter().any(|entry| entry.key.is_shared() || entry.value.is_shared())
                }
                Kind::List { items, .. } => items.iter().any(|item| item.value.is_shared()),
            }
    }
}

impl Entry {
    /// Where its last byte ends.
    pub(super) fn end(&self) -> usize {
        self.value.end.max(self.colon.unwrap_or(self.key.end))
    }
}

impl Item {
    /// Where its last byte ends.
    pub(super) fn end(&self) -> usize {
        self.value.end.max(self.dash.map_or(0, |dash| dash + 1))
    }
}

struct Reader<'a> {
    text: &'a str,
    parser: Parser<'a, granit_parser::StrInput<'a>>,
    /// The end of what was read; a blank node begins here and not where the parser noticed it.
    at: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Refused> {
        loop {
            let (event, span) =
                self.parser.next_event().ok_or(Refused::Unreadable)?.map_err(|_| Refused::Unreadable)?;
            if !matches!(event, Event::Comment(..)) {
                return Ok((event, span));
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, Refused> {
        let range = span.byte_range().ok_or(Refused::Notation)?;
        let (start, end) = (range.start, range.end);
        let node = match event {
            Event::Scalar(_, style, anchor, tag) => {
                let (start, end) = self.scalar(style, start, end)?;
                Node { start, end, kind: Kind::Scalar(style), anchored: anchor != 0, tagged: tag.is_some() }
            }
            Event::Alias(_) => Node { start, end, kind: Kind::Alias, anchored: false, tagged: false },
            Event::MappingStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let (entries, end) = self.entries(flow, end)?;
                let start = entries.first().filter(|_| !flow).map_or(start, |entry| entry.key.start);
                Node {
                    start,
                    end,
                    kind: Kind::Map { flow, entries },
                    anchored: anchor != 0,
                    tagged: tag.is_some(),
                }
            }
            Event::SequenceStart(style, anchor, tag) => {
                let flow = style == StructureStyle::Flow;
                let (items, end) = self.items(flow, end)?;
                let start = items.first().filter(|_| !flow).map_or(start, |item| item.dash.unwrap_or(start));
                Node {
                    start,
                    end,
                    kind: Kind::List { flow, items },
                    anchored: anchor != 0,
                    tagged: tag.is_some(),
                }
            }
            _ => return Err(Refused::Unreadable),
        };
        self.at = self.at.max(node.end);
        Ok(node)
    }

    fn scalar(&self, style: ScalarStyle, start: usize, end: usize) -> Result<(usize, usize), Refused> {
        let text = self.text.get(start..end).ok_or(Refused::Notation)?;
        match style {
            _ if start == end => Ok((self.at, self.at)),
            // Its header belongs to it, the empty lines behind it to nobody.
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let from = self.text.get(self.at..).ok_or(Refused::Notation)?;
                let header = from.find(['|', '>']).ok_or(Refused::Notation)?;
                let start = start.min(self.at + header);
                let text = self.text.get(start..end).ok_or(Refused::Notation)?;
                Ok((start, start + text.trim_end().len()))
            }
            _ => Ok((start, start + text.trim_end().len())),
        }
    }

    fn entries(&mut self, flow: bool, start: usize) -> Result<(Vec<Entry>, usize), Refused> {
        self.at = self.at.max(start);
        let mut entries: Vec<Entry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd) {
                let end = if flow { span.byte_range().ok_or(Refused::Notation)?.end } else { self.at };
                return Ok((entries, end));
            }
            let name = match &event {
                Event::Scalar(text, ..) => text.to_string(),
                _ => String::new(),
            };
            let key = self.node(event, span)?;
            let rest = self.text.get(key.end..).ok_or(Refused::Notation)?;
            let gap = rest.len() - rest.trim_start_matches([' ', '\t']).len();
            let colon = rest[gap..].starts_with(':').then_some(key.end + gap + 1);
            self.at = self.at.max(colon.unwrap_or(key.end));
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            entries.push(Entry { key, name, colon, value });
        }
    }

    fn items(&mut self, flow: bool, start: usize) -> Result<(Vec<Item>, usize), Refused> {
        self.at = if flow { self.at.max(start) } else { self.at };
        let mut items: Vec<Item> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::SequenceEnd) {
                let end = if flow { span.byte_range().ok_or(Refused::Notation)?.end } else { self.at };
                return Ok((items, end));
            }
            let dash = if flow { None } else { Some(self.dash()?) };
            self.at = dash.map_or(self.at, |dash| dash + 1);
            let value = self.node(event, span)?;
            items.push(Item { dash, value });
        }
    }

    /// The dash that comes next, over blanks and comments.
    fn dash(&self) -> Result<usize, Refused> {
        let mut at = self.at;
        loop {
            let rest = self.text.get(at..).ok_or(Refused::Notation)?;
            let skipped = rest.len() - rest.trim_start().len();
            let rest = &rest[skipped..];
            at += skipped;
            match rest.as_bytes().first() {
                Some(b'-') => return Ok(at),
                Some(b'#') => at += rest.find('\n').unwrap_or(rest.len()),
                // An anchor or a tag of the list stands before its first dash.
                Some(b'&' | b'!') => at += rest.find(char::is_whitespace).unwrap_or(rest.len()),
                _ => return Err(Refused::Notation),
            }
        }
    }
}
