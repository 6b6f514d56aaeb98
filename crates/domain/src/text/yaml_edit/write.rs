//! Writes values as YAML, in the style of the surrounding text.

use serde_json::{Map, Value};

use super::style::Style;
use crate::text::manifest::{YamlDocument, read_value};

/// Words that some YAML parsers do not read as text.
const AMBIGUOUS_WORDS: [&str; 11] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "="];

/// The quotes of a scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quotes {
    None,
    Single,
    Double,
}

/// Writes values.
#[derive(Debug, Clone, Copy)]
pub(super) struct YamlWriter {
    style: Style,
}

impl YamlWriter {
    pub(super) fn new(style: Style) -> Self {
        Self { style }
    }

    pub(super) fn with_default_style(newline: &'static str) -> Self {
        Self::new(Style::plain(newline))
    }

    /// A whole document, with its final line break.
    pub(super) fn format_document(self, value: &Value) -> String {
        format!("{}{}", self.format_node(value, 0), self.style.newline)
    }

    /// `key: value` with the key in this column, without a line break.
    pub(super) fn format_entry(self, key: &str, value: &Value, column: usize) -> String {
        format!(
            "{}:{}",
            format_scalar(&Value::String(key.to_owned()), Quotes::None, false),
            self.format_after_key(value, column)
        )
    }

    /// The text behind the colon of a key in this column.
    pub(super) fn format_after_key(self, value: &Value, column: usize) -> String {
        let inner = match value {
            Value::Array(_) if !self.style.lists_indented => column,
            _ => column + self.style.indent,
        };
        if is_block(value) {
            let indent = self.break_line(inner);
            format!("{indent}{}", self.format_node(value, inner))
        } else {
            format!(" {}", self.format_inline(value, Quotes::None, inner))
        }
    }

    /// `- value` with the dash in this column, without a line break.
    pub(super) fn format_item(self, value: &Value, column: usize) -> String {
        format!("- {}", self.format_node(value, column + 2))
    }

    /// A value that begins at the current position, which is this column.
    pub(super) fn format_node(self, value: &Value, column: usize) -> String {
        let next = self.break_line(column);
        match value {
            Value::Object(map) if !map.is_empty() => {
                let lines: Vec<String> =
                    map.iter().map(|(key, value)| self.format_entry(key, value, column)).collect();
                lines.join(&next)
            }
            Value::Array(items) if !items.is_empty() => {
                let lines: Vec<String> = items.iter().map(|item| self.format_item(item, column)).collect();
                lines.join(&next)
            }
            value => self.format_inline(value, Quotes::None, column),
        }
    }

    /// A value without block structure; a multi-line text becomes a literal whose lines begin in `column`.
    pub(super) fn format_inline(self, value: &Value, quotes: Quotes, column: usize) -> String {
        match value {
            Value::String(text) if quotes == Quotes::None && is_literal_safe(text) => {
                let keep = if text.ends_with('\n') { "" } else { "-" };
                let indent = self.break_line(column.max(self.style.indent));
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
            value => format_scalar(value, quotes, false),
        }
    }

    /// A line break and the indentation of the next line.
    pub(super) fn break_line(self, column: usize) -> String {
        format!("{}{}", self.style.newline, " ".repeat(column))
    }
}

/// Whether a value is written on its own lines.
pub(super) fn is_block(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    }
}

/// Whether a text has several lines and a literal preserves it exactly.
fn is_literal_safe(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    body.contains('\n')
        && !body.ends_with('\n')
        && !text.starts_with([' ', '\t', '\n'])
        && text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control())
}

/// A value on one line, inside of `{}` or `[]`. `json`: quoted as its neighbours are.
pub(super) fn format_flow(value: &Value, json: bool) -> String {
    match value {
        _ if json => value.to_string(),
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, value)| format_flow_entry(key, value, json)).collect();
            if map.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| format_flow(item, json)).collect();
            format!("[{}]", items.join(", "))
        }
        scalar_value => format_scalar(scalar_value, Quotes::None, true),
    }
}

/// `key: value` inside of `{}`.
pub(super) fn format_flow_entry(key: &str, value: &Value, json: bool) -> String {
    let name = Value::String(key.to_owned());
    let key = if json { name.to_string() } else { format_scalar(&name, Quotes::None, true) };
    format!("{key}: {}", format_flow(value, json))
}

/// A scalar on one line. The old quotes of a text are retained where possible.
pub(super) fn format_scalar(value: &Value, quotes: Quotes, in_flow: bool) -> String {
    match value {
        Value::String(text) => match quotes {
            Quotes::None if is_plain_safe(text, in_flow) => text.clone(),
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

/// Whether a text needs no quotes, for this and other YAML parsers.
fn is_plain_safe(text: &str, in_flow: bool) -> bool {
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
    // `1_000`, `1:30` and the like are numbers to some parsers.
    let number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !text.contains(|c: char| c.is_ascii_alphabetic());
    let marker = text.starts_with("---") || text.starts_with("...");
    clear
        && !number
        && !marker
        && !AMBIGUOUS_WORDS.contains(&text.to_ascii_lowercase().as_str())
        && read_value(&YamlDocument { text, first_line: 1, start: 0 }).as_ref().and_then(Value::as_str)
            == Some(text)
}
