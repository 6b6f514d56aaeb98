//! Values as YAML, in the style of the text they go into.

use serde_json::{Map, Value};

use super::style::Style;
use crate::manifest::{Document, read_value};

/// Words that some reader of YAML takes for something else than text.
const NOT_TEXT: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "="];

/// How a text was quoted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Single,
    Double,
}

/// Writes values.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writer {
    style: Style,
}

impl Writer {
    pub(super) fn new(style: Style) -> Self {
        Self { style }
    }

    pub(super) fn plain(newline: &'static str) -> Self {
        Self::new(Style::plain(newline))
    }

    /// A whole document, with its last line end.
    pub(super) fn document(self, value: &Value) -> String {
        format!("{}{}", self.node(value, 0), self.style.newline)
    }

    /// `key: value`, where the key stands in this column; without a line end.
    pub(super) fn entry(self, key: &str, value: &Value, column: usize) -> String {
        format!(
            "{}:{}",
            scalar(&Value::String(key.to_owned()), Quotes::None, false),
            self.after_key(value, column)
        )
    }

    /// What comes behind the colon of a key in this column.
    pub(super) fn after_key(self, value: &Value, column: usize) -> String {
        let inner = match value {
            Value::Array(_) if !self.style.lists_indented => column,
            _ => column + self.style.step,
        };
        if is_block(value) {
            let indent = self.line(inner);
            format!("{indent}{}", self.node(value, inner))
        } else {
            format!(" {}", self.short(value, Quotes::None, inner))
        }
    }

    /// `- value`, where the dash stands in this column; without a line end.
    pub(super) fn item(self, value: &Value, column: usize) -> String {
        format!("- {}", self.node(value, column + 2))
    }

    /// A value that begins in this column, where the cursor is.
    pub(super) fn node(self, value: &Value, column: usize) -> String {
        let next = self.line(column);
        match value {
            Value::Object(map) if !map.is_empty() => {
                let lines: Vec<String> =
                    map.iter().map(|(key, value)| self.entry(key, value, column)).collect();
                lines.join(&next)
            }
            Value::Array(items) if !items.is_empty() => {
                let lines: Vec<String> = items.iter().map(|item| self.item(item, column)).collect();
                lines.join(&next)
            }
            value => self.short(value, Quotes::None, column),
        }
    }

    /// What is no block; a text of several lines becomes a literal whose lines begin in `column`.
    pub(super) fn short(self, value: &Value, quotes: Quotes, column: usize) -> String {
        match value {
            Value::String(text) if quotes == Quotes::None && fits_literal(text) => {
                let keep = if text.ends_with('\n') { "" } else { "-" };
                let indent = self.line(column.max(self.style.step));
                let lines: Vec<String> = text
                    .lines()
                    .map(|line| {
                        if line.is_empty() {
                            self.style.newline.to_owned()
                        } else {
                            format!("{indent}{line}")
                        }
                    })
                    .collect();
                format!("|{keep}{}", lines.concat())
            }
            value => scalar(value, quotes, false),
        }
    }

    /// A line end and the indentation of the next line.
    pub(super) fn line(self, column: usize) -> String {
        format!("{}{}", self.style.newline, " ".repeat(column))
    }
}

/// Whether it takes lines of its own.
pub(super) fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Several lines that a literal gives back as they are.
fn fits_literal(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.ends_with('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control())
}

/// A value on one line, inside of `{}` or `[]`. `json`: the neighbours are quoted, so this is too.
pub(super) fn flow(value: &Value, json: bool) -> String {
    match value {
        _ if json => value.to_string(),
        Value::Object(map) => {
            let fields: Vec<String> = map.iter().map(|(key, value)| flow_entry(key, value, json)).collect();
            if map.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| flow(item, json)).collect();
            format!("[{}]", items.join(", "))
        }
        scalar_value => scalar(scalar_value, Quotes::None, true),
    }
}

/// `key: value` inside of `{}`.
pub(super) fn flow_entry(key: &str, value: &Value, json: bool) -> String {
    let name = Value::String(key.to_owned());
    let key = if json { name.to_string() } else { scalar(&name, Quotes::None, true) };
    format!("{key}: {}", flow(value, json))
}

/// A scalar on one line. A text that was quoted stays quoted the same way if it can.
pub(super) fn scalar(value: &Value, quotes: Quotes, in_flow: bool) -> String {
    match value {
        Value::String(text) => match quotes {
            Quotes::None if reads_plain(text, in_flow) => text.clone(),
            Quotes::Single if !text.chars().any(char::is_control) => {
                format!("'{}'", text.replace('\'', "''"))
            }
            _ => value.to_string(),
        },
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Object(map) if Map::is_empty(map) => "{}".to_owned(),
        value => value.to_string(),
    }
}

/// Whether a text says itself without quotes, here and to other readers of YAML.
fn reads_plain(text: &str, in_flow: bool) -> bool {
    let safe = |c: char| {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '.' | '/' | '@' | ':' | '+' | '-' | '=' | '~' | '%' | '*' | '(' | ')' | ' ')
            || (!in_flow && c == ',')
    };
    let begins = text.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '.'))
        || (text.len() > 1
            && text.starts_with('-')
            && text.as_bytes().get(1).is_some_and(u8::is_ascii_alphabetic))
        || (text.len() > 2 && text.starts_with("--"));
    let ends = !text.ends_with([' ', ':']);
    let clear =
        begins && ends && text.chars().all(safe) && !text.contains(": ") && !(in_flow && text.contains(':'));
    // `1_000`, `1:30` and the like are numbers to some.
    let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !text.contains(|c: char| c.is_ascii_alphabetic());
    let marker = text.starts_with("---") || text.starts_with("...");
    clear
        && !number
        && !marker
        && !NOT_TEXT.contains(&text.to_ascii_lowercase().as_str())
        && read_value(&Document { text, first_line: 1, start: 0 }).as_ref().and_then(Value::as_str)
            == Some(text)
}
