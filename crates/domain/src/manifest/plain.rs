//! Values that are no objects of Kubernetes: a placement, values and patches of an override. One document, read with the
//! limits of a source and written in block style.

use serde_json::Value;

use super::{MAX_DOCUMENT_NODES, documents, explain, read};
use crate::finding::Finding;

/// Longest text that is read, in bytes.
pub const MAX_TEXT: usize = 262_144;

/// The value of the only document in a text; `None` of a text without any.
pub fn read(text: &str) -> Result<Option<Value>, Finding> {
    if text.len() > MAX_TEXT {
        let message = format!("This text has {} bytes; {MAX_TEXT} are read at most.", text.len());
        return Err(Finding::error("G111", message, "Write less, or put it into a file of the source."));
    }
    let documents = documents::split(text);
    let document = match documents.as_slice() {
        [] => return Ok(None),
        [document] => document,
        more => {
            let message = format!("There are {} documents where one is meant.", more.len());
            return Err(Finding::error("G109", message, "Take out the lines with only \"---\"."));
        }
    };
    let located = read::read(document, MAX_DOCUMENT_NODES)
        .map_err(|error| explain::unreadable(&error, document.text))?;
    match located.duplicates.first() {
        Some(twice) => Err(explain::duplicate(twice, "")),
        None => Ok(Some(located.value)),
    }
}

/// The value as YAML, with a line break at its end.
pub fn write(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, indent: usize, text: &mut String) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, value)) in map.iter().enumerate() {
                if at > 0 {
                    pad(indent, text);
                }
                text.push_str(&scalar(key));
                text.push(':');
                match value {
                    Value::Object(inner) if !inner.is_empty() => nested(value, indent + 2, text),
                    Value::Array(inner) if !inner.is_empty() => nested(value, indent + 2, text),
                    other => {
                        text.push(' ');
                        block(other, indent, text);
                    }
                }
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    pad(indent, text);
                }
                text.push_str("- ");
                block(item, indent + 2, text);
            }
        }
        Value::Object(_) => text.push_str("{}\n"),
        Value::Array(_) => text.push_str("[]\n"),
        Value::String(string) => {
            text.push_str(&scalar(string));
            text.push('\n');
        }
        other => {
            text.push_str(&other.to_string());
            text.push('\n');
        }
    }
}

fn nested(value: &Value, indent: usize, text: &mut String) {
    text.push('\n');
    pad(indent, text);
    block(value, indent, text);
}

fn pad(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n(' ', indent));
}

/// A text as a scalar: bare where nothing can misread it, else quoted as in JSON.
fn scalar(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_people_write_them() {
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
    fn what_cannot_be_read_says_where_or_why() {
        assert_eq!(read("# nothing\n").unwrap(), None);
        assert_eq!(read("a: 1\na: 2\n").unwrap_err().code, "G109");
        assert_eq!(read("a: 1\n---\nb: 2\n").unwrap_err().code, "G109");
        assert_eq!(read("a: [1\n").unwrap_err().code, "G109");
        assert_eq!(read(&"a".repeat(MAX_TEXT + 1)).unwrap_err().code, "G111");
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
        fn what_is_written_reads_back(value in any_value()) {
            let text = write(&value);
            prop_assert_eq!(read(&text).unwrap(), Some(value), "{}", text);
        }
    }
}
