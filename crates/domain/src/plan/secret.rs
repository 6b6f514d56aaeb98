//! The values of Secrets: compared, never shown.
//!
//! People write `stringData` or `data`, the server keeps `data` only, in one form of base64. The changes carry no
//! values: a plan is shown, stored and mailed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::FieldChange;
use crate::path::Path;

/// What stands for a value that may not be shown.
pub const HIDDEN: &str = "(hidden)";

/// Whether the object's `data` must not be shown.
pub(super) fn is_secret(object: &Value) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

/// The object with its values hidden.
pub(super) fn without_values(object: &Value) -> Value {
    let mut shown = object.clone();
    for field in ["data", "stringData"] {
        let values = shown.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten();
        values.for_each(|(_, value)| *value = HIDDEN.into());
    }
    shown
}

/// The keys of `stringData` and `data` that applying would change.
pub(super) fn changes(wanted: &Value, live: &Value) -> Vec<FieldChange> {
    let there = map(live, "data");
    let mut changes = Vec::new();
    for (field, key, value) in entries(wanted) {
        let live = there.and_then(|there| there.get(key)).filter(|live| !live.is_null());
        if live.is_none_or(|live| bytes(field, value) != bytes("data", live)) {
            changes.push(FieldChange {
                path: Path::default().key(field).key(key).to_string(),
                wanted: Some(HIDDEN.into()),
                live: live.map(|_| HIDDEN.into()),
            });
        }
    }
    changes
}

/// The keys that `previous` set, `wanted` does not and `live` still has.
pub(super) fn removed(previous: &Value, wanted: &Value, live: &Value) -> Vec<FieldChange> {
    let there = map(live, "data");
    let kept = |key: &str| entries(wanted).iter().any(|(_, wanted, _)| *wanted == key);
    entries(previous)
        .into_iter()
        .filter(|(_, key, _)| !kept(key) && there.is_some_and(|there| there.contains_key(*key)))
        .map(|(_, key, _)| FieldChange {
            path: Path::default().key("data").key(key).to_string(),
            wanted: None,
            live: Some(HIDDEN.into()),
        })
        .collect()
}

fn map<'v>(object: &'v Value, field: &str) -> Option<&'v Map<String, Value>> {
    object.get(field).and_then(Value::as_object)
}

/// Field, key and value of everything set; `stringData` wins over `data`, as on the server.
fn entries(object: &Value) -> Vec<(&'static str, &str, &Value)> {
    let of = |field: &'static str| {
        let entries = map(object, field).into_iter().flatten();
        entries.filter(|(_, value)| !value.is_null()).map(move |(key, value)| (field, key.as_str(), value))
    };
    let texts = map(object, "stringData");
    let shadowed =
        |key: &str| texts.is_some_and(|texts| texts.get(key).is_some_and(|value| !value.is_null()));
    of("data").filter(|(_, key, _)| !shadowed(key)).chain(of("stringData")).collect()
}

/// The bytes of a value; text that is no base64 stands for itself, so that it still compares.
fn bytes(field: &str, value: &Value) -> Vec<u8> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if field == "stringData" {
        return text.into_bytes();
    }
    decoded(&text).unwrap_or(text.into_bytes())
}

/// The bytes that base64 text stands for; line breaks in it do not count.
pub(super) fn decoded(text: &str) -> Option<Vec<u8>> {
    let compact: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(compact).ok()
}
