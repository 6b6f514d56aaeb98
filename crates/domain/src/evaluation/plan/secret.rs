//! The values of Secrets: compared, never shown.
//!
//! Manifests have `stringData` or `data`, the server stores only `data`, in canonical base64. Changes contain no values,
//! because plans are displayed, stored and mailed.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::FieldChange;
use crate::kubernetes::field_path::FieldPath;
pub(super) use crate::text::secret_text::{
    HIDDEN_VALUE, hide_annotation, hide_values, is_annotation_path, is_secret_object,
};
use crate::text::secret_text::{contains_secret, hide_field};

/// The object with its `stringData` in `data`, as the server stores it; unchanged if a value is no text, which the server rejects.
pub(super) fn with_stored_data(object: &Value) -> Cow<'_, Value> {
    let is_text = |value: &Value| value.is_string() || value.is_null();
    let texts = map_field(object, "stringData")
        .filter(|texts| is_secret_object(object) && texts.values().all(is_text));
    let Some(texts) = texts else { return Cow::Borrowed(object) };
    let mut data = map_field(object, "data").cloned().unwrap_or_default();
    data.extend(
        texts.iter().filter_map(|(key, value)| Some((key.clone(), STANDARD.encode(value.as_str()?).into()))),
    );
    let mut stored = object.clone();
    if let Some(fields) = stored.as_object_mut() {
        fields.remove("stringData");
        fields.insert("data".to_owned(), Value::Object(data));
    }
    Cow::Owned(stored)
}

/// The keys of `stringData` and `data` that applying would change.
pub(super) fn find_changed_keys(desired: &Value, live: &Value) -> Vec<FieldChange> {
    let existing = map_field(live, "data");
    let mut changes = Vec::new();
    for (field, key, value) in entries(desired) {
        let live = existing.and_then(|existing| existing.get(key)).filter(|live| !live.is_null());
        if live.is_none_or(|live| value_bytes(field, value) != value_bytes("data", live)) {
            changes.push(FieldChange {
                path: FieldPath::default().with_key(field).with_key(key).to_string(),
                desired: Some(HIDDEN_VALUE.into()),
                live: live.map(|_| HIDDEN_VALUE.into()),
            });
        }
    }
    changes
}

/// The keys that `previous` set, `desired` does not and `live` still has.
pub(super) fn find_removed_keys(previous: &Value, desired: &Value, live: &Value) -> Vec<FieldChange> {
    let existing = map_field(live, "data");
    let is_desired = |key: &str| entries(desired).iter().any(|(_, desired, _)| *desired == key);
    entries(previous)
        .into_iter()
        .filter(|(_, key, _)| {
            !is_desired(key) && existing.is_some_and(|existing| existing.contains_key(*key))
        })
        .map(|(_, key, _)| FieldChange {
            path: FieldPath::default().with_key("data").with_key(key).to_string(),
            desired: None,
            live: Some(HIDDEN_VALUE.into()),
        })
        .collect()
}

fn map_field<'v>(object: &'v Value, field: &str) -> Option<&'v Map<String, Value>> {
    object.get(field).and_then(Value::as_object)
}

/// Field, key and value of every entry; `stringData` takes precedence over `data`, as on the server.
fn entries(object: &Value) -> Vec<(&'static str, &str, &Value)> {
    let entries_of = |field: &'static str| {
        let entries = map_field(object, field).into_iter().flatten();
        entries.filter(|(_, value)| !value.is_null()).map(move |(key, value)| (field, key.as_str(), value))
    };
    let texts = map_field(object, "stringData");
    let shadowed =
        |key: &str| texts.is_some_and(|texts| texts.get(key).is_some_and(|value| !value.is_null()));
    entries_of("data").filter(|(_, key, _)| !shadowed(key)).chain(entries_of("stringData")).collect()
}

/// The bytes of a value; text that is not base64 is used as it is, so that it can still be compared.
fn value_bytes(field: &str, value: &Value) -> Vec<u8> {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if field == "stringData" {
        return text.into_bytes();
    }
    decode_base64(&text).unwrap_or(text.into_bytes())
}

/// Decodes base64 text, ignoring whitespace; `None` if it is invalid.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let compact: String = text.split_ascii_whitespace().collect();
    STANDARD.decode(compact).ok()
}

/// Hides the values of Secrets that these forms of one object contain, such as a resource with a template of a Secret, or a `ConfigMap` with
/// the manifest of one.
pub(super) fn hide_contained(changes: &mut [FieldChange], objects: &[&Value]) {
    if changes.is_empty() {
        return;
    }
    let contains_secret = objects.iter().any(|object| contains_secret(object));
    for FieldChange { path, desired, live } in changes {
        [desired, live].into_iter().flatten().for_each(|value| hide_field(contains_secret, path, value));
    }
}

/// Hides what stands in the annotations of changed fields of a Secret.
pub(super) fn hide_annotations(changes: &mut [FieldChange]) {
    for change in changes {
        let is_hidden = is_annotation_path(&change.path);
        for value in [&mut change.desired, &mut change.live].into_iter().flatten() {
            if is_hidden {
                *value = HIDDEN_VALUE.into();
            } else {
                hide_annotation(value);
            }
        }
    }
}
