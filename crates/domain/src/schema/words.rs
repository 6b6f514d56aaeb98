//! What a person reads of something that does not fit: what is wrong, and what to do.

use serde_json::{Map, Value};

use super::check::Walk;
use super::step::{Step, clipped, shown, with};
use super::{Object, Type, elsewhere};
use crate::guard::suggested_quantity;
use crate::nearest::nearest;

/// What, and what to do.
type Said = (String, String);

/// A field that the kind does not have.
pub(super) fn unknown(walk: &Walk<'_>, object: &Object, field: &str, beside: &Map<String, Value>) -> Said {
    let place = with(&walk.steps, field);
    let free = object.fields.keys().map(String::as_str).filter(|name| !beside.contains_key(*name));
    if let Some(meant) = nearest(field, free) {
        let hint = format!("Write {meant}, or remove it.");
        return (format!("unknown field {place} (did you mean {meant}?)"), hint);
    }
    if let Some(home) = elsewhere::find(walk, object, field) {
        let hint = "Move it there: it may be indented by too much or too little.".to_owned();
        return (format!("unknown field {place} ({field} belongs in {home})", field = clipped(field)), hint);
    }
    let hint = match object.fields.len() {
        0 => "Remove it; nothing may stand here.".to_owned(),
        1..=8 => format!("Remove it; what may stand here is {}.", list(object.fields.keys())),
        _ => "Remove it, or look up its name: Kubernetes refuses fields that it does not know.".to_owned(),
    };
    (format!("unknown field {place}"), hint)
}

/// A field that must be there.
pub(super) fn missing(steps: &[Step<'_>], field: &str, of: &Type) -> Said {
    let example = match of {
        Type::OneOf(words) => format!(", one of {}", list(words.iter())),
        Type::List(_) => ", a list".to_owned(),
        Type::Int32 | Type::Integer => ", a whole number".to_owned(),
        _ => String::new(),
    };
    (format!("{} is missing", with(steps, field)), format!("Add {}{example}.", clipped(field)))
}

/// A value of another type.
pub(super) fn wrong_type(steps: &[Step<'_>], of: &Type, value: &Value) -> Said {
    let what = format!("{} must be {}, not {}", shown(steps), wanted(of), found(value));
    let quoted = value.as_str().map(str::trim);
    let hint = match (of, value) {
        (Type::Boolean, Value::String(_)) if matches!(quoted, Some("true" | "false")) => UNQUOTE.to_owned(),
        (Type::Int32 | Type::Integer | Type::Number, Value::String(_))
            if quoted.is_some_and(|text| text.parse::<f64>().is_ok()) =>
        {
            UNQUOTE.to_owned()
        }
        (Type::Text | Type::Base64 | Type::OneOf(_) | Type::Quantity, Value::Number(_) | Value::Bool(_)) => {
            "Put the value in quotes.".to_owned()
        }
        (Type::List(_), _) => "Write a list: each item on a line that begins with \"- \".".to_owned(),
        (Type::Map(_) | Type::Object(_), Value::Array(_)) => {
            "Leave out the \"- \": one map of fields stands here, not a list.".to_owned()
        }
        _ => format!("Write {}.", wanted(of)),
    };
    (what, hint)
}

const UNQUOTE: &str = "Write it without quotes.";

/// A word that is not among those allowed.
pub(super) fn not_one_of(steps: &[Step<'_>], text: &str, words: &[String]) -> Said {
    let same = words.iter().find(|word| word.eq_ignore_ascii_case(text));
    let meant = same.map(String::as_str).or_else(|| nearest(text, words.iter().map(String::as_str)));
    let what = format!("{} is {:?}, which is none of {}", shown(steps), clipped(text), list(words.iter()));
    (what, meant.map_or("Write one of them.".to_owned(), |meant| format!("Write {meant}.")))
}

/// Text that should be base64.
pub(super) fn not_base64(steps: &[Step<'_>]) -> Said {
    let plain = matches!(steps, [Step::Key("data"), Step::Key(_)]);
    let hint = if plain {
        "Encode it, or write it as it is under stringData."
    } else {
        "Encode it, with the padding at its end."
    };
    (format!("{} is not base64", shown(steps)), hint.to_owned())
}

/// Text that should be a quantity.
pub(super) fn no_quantity(steps: &[Step<'_>], text: &str) -> Said {
    let hint = suggested_quantity(text)
        .map_or("Write a number and a unit, such as 500m or 512Mi.".to_owned(), |better| {
            format!("Write {better}.")
        });
    (format!("{} is {:?}, which is not a quantity", shown(steps), clipped(text)), hint)
}

/// An item whose keys another item has.
pub(super) fn twice(steps: &[Step<'_>], keys: &[(String, Option<String>)], values: &[String]) -> Said {
    let pairs = keys.iter().zip(values).map(|((key, _), value)| format!("{key} {}", clipped(value)));
    let pairs = pairs.collect::<Vec<_>>().join(" and ");
    (format!("{} has the same {pairs} as an item before it", shown(steps)), "Keep one of them.".to_owned())
}

/// What a type is called.
fn wanted(of: &Type) -> &'static str {
    match of {
        Type::Any | Type::Shared(_) => "a value",
        Type::Text | Type::OneOf(_) => "text",
        Type::Base64 => "text in base64",
        Type::Boolean => "true or false",
        Type::Int32 | Type::Integer => "a whole number",
        Type::Number => "a number",
        Type::IntegerOrText => "a whole number or text",
        Type::Quantity => "a quantity",
        Type::List(_) => "a list",
        Type::Map(_) | Type::Object(_) => "a map of fields",
    }
}

/// What a value is.
fn found(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(on) => on.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("the text {:?}", clipped(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "a map of fields".to_owned(),
    }
}

/// Words as one reads them, not too many.
fn list<'a>(words: impl Iterator<Item = &'a String>) -> String {
    const MOST: usize = 12;
    let mut words: Vec<String> = words.map(|word| clipped(word)).collect();
    if words.len() > MOST {
        words.truncate(MOST);
        words.push("…".to_owned());
    }
    words.join(", ")
}
