//! YAML values that are not Kubernetes objects: a placement, values and patches of an override. One document, parsed
//! with the limits of a source and written in block style.

use serde_json::Value;
use serde_saphyr::Error;

use super::documents::YamlDocument;
use super::location::TextPosition;
use super::{MAX_DOCUMENT_NODES, documents, explain, parser};
use crate::text::bounded_json::VALUE_BYTES;
use crate::text::finding::{Finding, SourceLocation};

/// Longest text that is parsed, in bytes.
pub const MAX_VALUE_BYTES: usize = 262_144;
/// What a value needs in memory at most while it is read, in bytes, its position and its part of a map or a list included; a key counts as a
/// value. A map of one field and its key need the most: what they need in JSON ([`VALUE_BYTES`]), and for their positions a node of a tree
/// with room for eleven keys and positions of 24 and 48 bytes (816), and the key once more (32).
pub const READ_VALUE_BYTES: u64 = (VALUE_BYTES + 816 + 32).div_ceil(2);
/// How often the text itself is in memory.
const TEXT_COPIES: u64 = 4;

/// What reading a text needs in memory at most, in bytes, without reading it: a value has a line, an item of a list, or a part of a list or map
/// in one line, and a key has a colon. Nothing for a text that is too long to be read.
pub fn estimate_memory(text: &str) -> u64 {
    let bytes = text.as_bytes();
    if bytes.len() > MAX_VALUE_BYTES {
        return 0;
    }
    let separators = bytes.iter().filter(|byte| matches!(byte, b'\n' | b':' | b',' | b'{' | b'[')).count();
    let items = bytes.windows(2).filter(|pair| matches!(pair, [b'-' | b'?', b' '])).count();
    let replayed = if text.contains('&') && text.contains('*') { parser::MAX_ALIAS_EVENTS } else { 0 };
    let values = (1 + separators + items + replayed).min(MAX_DOCUMENT_NODES);
    READ_VALUE_BYTES * values as u64 + TEXT_COPIES * bytes.len() as u64
}

/// The value of the only document in a text; `None` for a text without a document.
pub fn read(text: &str) -> Result<Option<Value>, Finding> {
    read_within(text, MAX_DOCUMENT_NODES)
}

/// The same with another limit of its values, keys included, for a text that usually has few: each needs [`READ_VALUE_BYTES`].
pub fn read_within(text: &str, max_values: usize) -> Result<Option<Value>, Finding> {
    if text.len() > MAX_VALUE_BYTES {
        let message = format!("This text has {} bytes; at most {MAX_VALUE_BYTES} are allowed.", text.len());
        return Err(Finding::error("G111", message, "Shorten it, or move it into a file of the source."));
    }
    let documents = documents::split_documents(text);
    let document = match documents.as_slice() {
        [] => return Ok(None),
        [document] => document,
        more => {
            let message = format!("There are {} documents; only one is allowed.", more.len());
            return Err(Finding::error("G109", message, "Remove the lines with only \"---\"."));
        }
    };
    let located = parser::parse_document(document, max_values)
        .map_err(|error| explain_at_line(&error, document, max_values))?;
    match located.duplicates.first() {
        Some(twice) => Err(explain::duplicate_key(twice, "")),
        None => Ok(Some(located.value)),
    }
}

/// The finding with the line of the error in its message: these texts have no file that a location could name.
fn explain_at_line(error: &Error, document: &YamlDocument<'_>, max_values: usize) -> Finding {
    let mut finding = explain::invalid_yaml(error, document.text, max_values);
    if let Some(at) = error.location()
        && finding.code == explain::INVALID_TEXT
    {
        let line = TextPosition::from_location(at, document.first_line).line;
        finding.message = format!("{}, at line {line}.", finding.message.trim_end_matches('.'));
    }
    finding
}

/// The value as YAML, with a line break at its end.
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    write_block(value, 0, &mut text);
    text
}

fn write_block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    write_indent(indent, text);
                }
                text.push_str(&format_scalar(key));
                text.push(':');
                match value {
                    Value::Object(inner) if !inner.is_empty() => write_nested(value, indent + 2, text),
                    Value::Array(inner) if !inner.is_empty() => write_nested(value, indent + 2, text),
                    other => {
                        text.push(' ');
                        write_block(other, indent, text);
                    }
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    write_indent(indent, text);
                }
                text.push_str("- ");
                write_block(item, indent + 2, text);
            }
        }
        Value::Object(_) => text.push_str("{}\n"),
        Value::Array(_) => text.push_str("[]\n"),
        Value::String(string) => {
            text.push_str(&format_scalar(string));
            text.push('\n');
        }
        other => {
            text.push_str(&other.to_string());
            text.push('\n');
        }
    }
}

fn write_nested(value: &Value, indent: usize, text: &mut String) {
    text.push('\n');
    write_indent(indent, text);
    write_block(value, indent, text);
}

fn write_indent(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
}

/// A text as a scalar: plain where it is unambiguous, otherwise quoted as in JSON.
fn format_scalar(text: &str) -> String {
    if is_bare(text) {
        return text.to_owned();
    }
    let quoted = Value::from(text).to_string();
    let escape = |c: char| match c {
        '\u{7f}'.. if !c.is_alphanumeric() => {
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        c => c.to_string(),
    };
    quoted.chars().map(escape).collect()
}

fn is_bare(text: &str) -> bool {
    const WORDS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "nan"];
    let inner = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-' | '=' | '[' | ']' | '(' | ')')
    };
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/')
        && text.len() > 1
        && text.chars().all(inner)
        && !WORDS.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// The position of the value at a JSON pointer, or of the nearest one above it; `None` for a text that is not one valid document.
pub fn locate(text: &str, file: &str, pointer: &str) -> Option<SourceLocation> {
    let documents = documents::split_documents(text);
    let [document] = documents.as_slice() else { return None };
    let located = parser::parse_document(document, MAX_DOCUMENT_NODES).ok()?;
    Some(located.tree.position_of(pointer)?.in_file(file))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::location::PositionTree;
    use super::*;

    #[test]
    fn values_are_written_in_block_style() {
        let value = json!({
            "predicates": [{"names": ["eu-1", "1e3"], "labelSelector": "env in (a,b)"}, {}],
            "exclude": [],
            "numberOfClusters": 3,
            "patches": [{"op": "set", "path": "/spec/containers[name=web]/image", "value": null}],
        });
        insta::assert_snapshot!(write(&value), @r#"
        predicates:
          - names:
              - eu-1
              - "1e3"
            labelSelector: "env in (a,b)"
          - {}
        exclude: []
        numberOfClusters: 3
        patches:
          - op: set
            path: /spec/containers[name=web]/image
            value: null
        "#);
    }

    #[test]
    fn invalid_text_is_rejected_with_a_code() {
        assert_eq!(read("# nothing\n").unwrap(), None);
        assert_eq!(read("a: 1\na: 2\n").unwrap_err().code, "G109");
        assert_eq!(read("a: 1\n---\nb: 2\n").unwrap_err().code, "G109");
        assert_eq!(read("a: [1\n").unwrap_err().code, "G109");
        let message = read("# first\nnet:\n  cidr: [10.0.0.0/8\n  zone: a\n").unwrap_err().message;
        assert!(message.contains(", at line ") && message.ends_with('.'), "{message}");
        assert_eq!(read(&"a".repeat(MAX_VALUE_BYTES + 1)).unwrap_err().code, "G111");
    }

    #[test]
    fn p19_a_text_is_read_up_to_a_limit_of_its_values() {
        let list = |items: usize| format!("a: [{}]\n", vec!["[]"; items].join(", "));
        assert!(read_within(&list(90), 100).is_ok());
        let refused = read_within(&list(100), 100).unwrap_err();
        assert_eq!(refused.code, "G111");
        assert!(refused.message.contains("more than 100 values"), "{}", refused.message);
        assert!(read(&list(100)).is_ok());
    }

    #[test]
    fn p19_the_positions_of_a_map_need_no_more_than_what_is_estimated() {
        let node = 11 * (size_of::<String>() + size_of::<PositionTree>()) + 16;
        assert!(node <= 816, "{node}");
    }

    #[test]
    fn p19_the_memory_of_a_text_is_estimated_by_its_values_without_reading_it() {
        let values =
            |text: &str| (estimate_memory(text) - TEXT_COPIES * text.len() as u64) / READ_VALUE_BYTES;
        assert_eq!(values(""), 1);
        assert_eq!(values("a: 1\nb: [x, y]\nc:\n  - - z\n"), 1 + 4 + 3 + 2 + 2);
        assert_eq!(values("# ------\n"), 2);
        assert_eq!(values("a: &a 1\nb: *a\n"), 5 + parser::MAX_ALIAS_EVENTS as u64);
        assert_eq!(values(&"[],".repeat(80_000)), MAX_DOCUMENT_NODES as u64);
        assert_eq!(estimate_memory(&"a".repeat(MAX_VALUE_BYTES + 1)), 0);
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
            "[a-z0-9:#&*!|>%@`'\" \n,.-]{0,8}".prop_map(Value::from),
            prop::sample::select(vec!["true", "No", "~", "1.5", "0x10", "-", "a: b", "a #b", "", " a", "y"])
                .prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map("[a-z :#-]{0,4}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn written_values_are_read_back(value in any_value()) {
            let text = write(&value);
            prop_assert_eq!(read(&text).unwrap(), Some(value), "{}", text);
        }
    }
}
