//! Reads the fields of an object, and names those that nothing has read.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{FieldNotCarried, MAX_NOT_CARRIED};
use crate::kubernetes::field_path::escape_pointer_token;

/// Why fields are not carried over: the begin of a path, in which `*` is the position in a list, and a sentence.
pub(super) type Reasons = [(&'static str, &'static str)];

/// The reason for a field that is in no table.
const UNKNOWN_FIELD: &str = "This version of Flotilla does not know the field.";
/// Reasons for the fields that the objects of all tools have.
const SHARED_REASONS: &Reasons = &[
    ("/metadata/labels", "They are the labels of this object; those of a workload are set on it."),
    ("/metadata/annotations", "They concern the controller of this object."),
    ("/metadata/finalizers", "The policy deletion of the workload decides what a removal deletes."),
    ("/metadata", "The API server of a cluster writes it."),
    ("/status", "The controller of this object writes it."),
];

/// Most characters of the kind or the name of an object that are shown.
const MAX_NAME_CHARS: usize = 253;

/// Kind and name of an object, as messages name it.
pub(super) fn describe_object(object: &Value) -> String {
    let text = |pointer: &str| -> String {
        let text = object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        text.chars().take(MAX_NAME_CHARS).collect()
    };
    format!("{} {}", text("/kind"), text("/metadata/name")).trim().to_owned()
}

/// The fields of an object, and which of them were read.
pub(super) struct ObjectReader<'a> {
    object: &'a Value,
    /// Paths of the values that were read as a whole.
    read: BTreeSet<String>,
    /// Those that are named with a reason of their own.
    named: Vec<FieldNotCarried>,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(object: &'a Value) -> Self {
        let read = ["/apiVersion", "/kind", "/metadata/name", "/metadata/namespace"];
        Self { object, read: read.map(str::to_owned).into(), named: Vec::new() }
    }

    /// Kind and name of the object.
    pub(super) fn describe(&self) -> String {
        describe_object(self.object)
    }

    /// The value at a path without recording that it was read; `None` if it is absent or null.
    pub(super) fn peek(&self, path: &str) -> Option<&'a Value> {
        self.object.pointer(path).filter(|value| !value.is_null())
    }

    /// The value at a path, which is read as a whole.
    pub(super) fn value(&mut self, path: &str) -> Option<&'a Value> {
        self.read.insert(path.to_owned());
        self.peek(path)
    }

    /// The text at a path; empty if there is none. Something else than a text is not read, so that it is named.
    pub(super) fn text(&mut self, path: &str) -> &'a str {
        match self.peek(path) {
            Some(Value::String(text)) => {
                self.read.insert(path.to_owned());
                text.trim()
            }
            Some(_) => {
                self.leave(path, "It is not a text.");
                ""
            }
            None => "",
        }
    }

    /// Whether a field is true or false; `None` if it is neither. Something else than that is not read, so that it is named.
    pub(super) fn flag(&mut self, path: &str) -> Option<bool> {
        let flag = self.peek(path)?.as_bool();
        match flag {
            Some(_) => {
                self.read.insert(path.to_owned());
            }
            None => self.leave(path, "It is neither true nor false."),
        }
        flag
    }

    /// The items of the list at a path, which is not read by this.
    pub(super) fn items(&self, path: &str) -> &'a [Value] {
        self.peek(path).and_then(Value::as_array).map_or(&[][..], Vec::as_slice)
    }

    /// Records that a field is not carried over, and why.
    pub(super) fn leave(&mut self, path: &str, reason: impl Into<String>) {
        if self.read.insert(path.to_owned()) {
            self.name(path, reason);
        }
    }

    /// Names a field that was read, because it is not carried over as it is.
    pub(super) fn name(&mut self, path: &str, reason: impl Into<String>) {
        let (object, path) = (self.describe(), path.to_owned());
        push(&mut self.named, FieldNotCarried { object, path, reason: reason.into() });
    }

    /// Every field that was not read, with the reason from the table.
    pub(super) fn list_not_carried(self, reasons: &Reasons) -> Vec<FieldNotCarried> {
        let mut found = Vec::new();
        self.collect(self.object, String::new(), reasons, &mut found);
        let mut all = self.named;
        all.extend(found);
        all
    }

    fn collect(&self, value: &Value, path: String, reasons: &Reasons, found: &mut Vec<FieldNotCarried>) {
        if is_nothing(value) || self.read.contains(&path) {
            return;
        }
        let below = format!("{path}/");
        let is_partly_read =
            self.read.range(below.clone()..).next().is_some_and(|read| read.starts_with(&below));
        match value {
            Value::Object(map) if is_partly_read => {
                for (key, item) in map {
                    self.collect(item, format!("{below}{}", escape_pointer_token(key)), reasons, found);
                }
            }
            Value::Array(items) if is_partly_read => {
                for (at, item) in items.iter().enumerate() {
                    self.collect(item, format!("{below}{at}"), reasons, found);
                }
            }
            _ => {
                let reason = find_reason(&path, reasons).to_owned();
                push(found, FieldNotCarried { object: self.describe(), path, reason });
            }
        }
    }
}

/// Adds to a list, which has at most one entry more than is shown: then the list says that there are more.
fn push(list: &mut Vec<FieldNotCarried>, one: FieldNotCarried) {
    if list.len() <= MAX_NOT_CARRIED {
        list.push(one);
    }
}

/// Whether a value sets nothing.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn find_reason(path: &str, reasons: &Reasons) -> &'static str {
    let is_position = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = path.split('/').map(|part| if is_position(part) { "*" } else { part }).collect();
    let path = parts.join("/");
    let concerns =
        |begin: &str| path.strip_prefix(begin).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let mut all = reasons.iter().chain(SHARED_REASONS);
    all.find(|entry| concerns(entry.0)).map_or(UNKNOWN_FIELD, |entry| entry.1)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_field_that_is_not_read_is_named_once_with_its_reason() {
        let object = json!({
            "apiVersion": "example.com/v1", "kind": "HelmChart",
            "metadata": {"name": "web", "uid": "1"},
            "spec": {"chart": "web", "bootstrap": true, "items": [{"a": 1, "b": 2}], "empty": {}, "version": 2, "x/y": 1},
        });
        let mut reader = ObjectReader::new(&object);
        assert_eq!((reader.text("/spec/chart"), reader.text("/spec/version")), ("web", ""));
        assert_eq!(reader.value("/spec/items/0/a"), Some(&json!(1)));
        let left = reader.list_not_carried(&[("/spec/items/*/b", "No b."), ("/spec/boot", "Not this.")]);
        let left: Vec<(&str, &str)> =
            left.iter().map(|one| (one.path.as_str(), one.reason.as_str())).collect();
        assert_eq!(
            left,
            [
                ("/spec/version", "It is not a text."),
                ("/metadata/uid", "The API server of a cluster writes it."),
                ("/spec/bootstrap", UNKNOWN_FIELD),
                ("/spec/items/0/b", "No b."),
                ("/spec/x~1y", UNKNOWN_FIELD),
            ]
        );
    }
}
