//! Messages and hints of schema violations.

use serde_json::{Map, Value};

use super::path_step::{FieldPathStep, clip_text, format_field_path, format_path};
use super::position::SchemaPosition;
use super::{ObjectType, ValueType, misplaced};
use crate::kubernetes::nearest::find_nearest;
use crate::kubernetes::quantity::suggest_quantity;

/// Message and hint.
type MessageAndHint = (String, String);

/// A field that the kind does not have.
pub(super) fn unknown_field(
    position: &SchemaPosition<'_>,
    object: &ObjectType,
    field: &str,
    beside: &Map<String, Value>,
) -> MessageAndHint {
    let path = format_field_path(&position.steps, field);
    let unused = object.fields.keys().map(String::as_str).filter(|name| !beside.contains_key(*name));
    if let Some(meant) = find_nearest(field, unused) {
        let hint = format!("Write {meant}, or remove it.");
        return (format!("unknown field {path} (did you mean {meant}?)"), hint);
    }
    if let Some(owner) = misplaced::find_owner(position, object, field) {
        let hint = "Move it there; its indentation may be wrong.".to_owned();
        return (
            format!("unknown field {path} ({field} belongs in {owner})", field = clip_text(field)),
            hint,
        );
    }
    let hint = match object.fields.len() {
        0 => "Remove it; no fields are allowed here.".to_owned(),
        1..=8 => format!("Remove it; the fields allowed here are {}.", join_values(object.fields.keys())),
        _ => "Remove it, or correct its name: Kubernetes rejects unknown fields.".to_owned(),
    };
    (format!("unknown field {path}"), hint)
}

/// A required field that is missing.
pub(super) fn missing_field(steps: &[FieldPathStep<'_>], field: &str, of: &ValueType) -> MessageAndHint {
    let example = match of {
        ValueType::Enum(words) => format!(", one of {}", join_values(words.iter())),
        ValueType::List(_) => ", a list".to_owned(),
        ValueType::Int32 | ValueType::Integer => ", a whole number".to_owned(),
        _ => String::new(),
    };
    (format!("{} is missing", format_field_path(steps, field)), format!("Add {}{example}.", clip_text(field)))
}

/// A value of another type. The message does not contain it.
pub(super) fn wrong_type(steps: &[FieldPathStep<'_>], of: &ValueType, value: &Value) -> MessageAndHint {
    let what = format!("{} must be {}", format_path(steps), type_label(of));
    let quoted = value.as_str().map(str::trim);
    let hint = match (of, value) {
        (ValueType::Boolean, Value::String(_)) if matches!(quoted, Some("true" | "false")) => {
            UNQUOTE.to_owned()
        }
        (ValueType::Int32 | ValueType::Integer | ValueType::Number, Value::String(_))
            if quoted.is_some_and(|text| text.parse::<f64>().is_ok()) =>
        {
            UNQUOTE.to_owned()
        }
        (
            ValueType::Text | ValueType::Base64 | ValueType::Enum(_) | ValueType::Quantity,
            Value::Number(_) | Value::Bool(_),
        ) => "Put the value in quotes.".to_owned(),
        (ValueType::List(_), _) => "Write a list: each item on a line that begins with \"- \".".to_owned(),
        (ValueType::Map(_) | ValueType::Object(_), Value::Array(_)) => {
            "Remove the \"- \": the value is a map of fields, not a list.".to_owned()
        }
        _ => format!("Write {}.", type_label(of)),
    };
    (what, hint)
}

const UNQUOTE: &str = "Write it without quotes.";

/// A text that is not one of the allowed values.
pub(super) fn invalid_enum_value(
    steps: &[FieldPathStep<'_>],
    text: &str,
    words: &[String],
) -> MessageAndHint {
    let same = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    let meant = same.map(String::as_str).or_else(|| find_nearest(text, words.iter().map(String::as_str)));
    let what = format!(
        "{} is {:?}, which is not one of {}",
        format_path(steps),
        clip_text(text),
        join_values(words.iter())
    );
    (what, meant.map_or("Write one of them.".to_owned(), |meant| format!("Write {meant}.")))
}

/// Text that should be base64.
pub(super) fn invalid_base64(steps: &[FieldPathStep<'_>]) -> MessageAndHint {
    let plain = matches!(steps, [FieldPathStep::Key("data"), FieldPathStep::Key(_)]);
    let hint =
        if plain { "Encode it, or write it unencoded under stringData." } else { "Encode it with padding." };
    (format!("{} is not base64", format_path(steps)), hint.to_owned())
}

/// Text that should be a quantity.
pub(super) fn invalid_quantity(steps: &[FieldPathStep<'_>], text: &str) -> MessageAndHint {
    let hint = suggest_quantity(text)
        .map_or("Write a number and a unit, such as 500m or 512Mi.".to_owned(), |better| {
            format!("Write {better}.")
        });
    (format!("{} is {:?}, which is not a quantity", format_path(steps), clip_text(text)), hint)
}

/// An item with the same key values as an earlier item.
pub(super) fn duplicate_item(
    steps: &[FieldPathStep<'_>],
    keys: &[(String, Option<String>)],
    values: &[String],
) -> MessageAndHint {
    let pairs = keys.iter().zip(values).map(|((key, _), value)| format!("{key} {}", clip_text(value)));
    let pairs = pairs.collect::<Vec<_>>().join(" and ");
    (
        format!("{} has the same {pairs} as an earlier item", format_path(steps)),
        "Keep one of them.".to_owned(),
    )
}

/// The name of a type in messages.
fn type_label(of: &ValueType) -> &'static str {
    match of {
        ValueType::Any | ValueType::Shared(_) => "a value",
        ValueType::Text | ValueType::Enum(_) => "text",
        ValueType::Base64 => "text in base64",
        ValueType::Boolean => "true or false",
        ValueType::Int32 | ValueType::Integer => "a whole number",
        ValueType::Number => "a number",
        ValueType::IntegerOrText => "a whole number or text",
        ValueType::Quantity => "a quantity",
        ValueType::List(_) => "a list",
        ValueType::Map(_) | ValueType::Object(_) => "a map of fields",
    }
}

/// The description of a value in messages.
pub(super) fn value_label(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(on) => on.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the text {:?}", clip_text(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map of fields".to_owned(),
    }
}

/// A list of at most twelve values for a message.
fn join_values<'a>(words: impl Iterator<Item = &'a String>) -> String {
    const MOST: usize = 12;
    let mut words: Vec<String> = words.map(|word| clip_text(word)).collect();
    if words.len() > MOST {
        words.truncate(MOST);
        words.push("…".to_owned());
    }
    words.join(", ")
}
