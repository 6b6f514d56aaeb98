//! Messages of API servers, which quote values of objects. Everybody reads them, and the values may be secrets.

use std::borrow::Cow;

use serde_json::Value;

/// What precedes a value in braces: whatever an apply has in place of another type, as in "expected string, got
/// &value.valueUnstructured{Value:4711}", and objects in "Invalid value: {…}", which are long and precede the reason.
pub const VALUE_MARKS: [&str; 2] = ["valueUnstructured{", "Invalid value: {"];

/// The message with `…` in place of each value in braces.
pub fn redact_values(message: &str) -> String {
    VALUE_MARKS.iter().fold(message.to_owned(), |message, mark| redact_behind(mark, &message).into_owned())
}

/// Redacts a message; returns whether it had a value.
pub fn redact_message(message: &mut String) -> bool {
    let has_value = VALUE_MARKS.iter().any(|mark| message.contains(mark));
    if has_value {
        *message = redact_values(message);
    }
    has_value
}

/// Redacts all texts of a document; returns whether one had a value.
pub fn redact_document(document: &mut Value) -> bool {
    match document {
        Value::String(text) => redact_message(text),
        Value::Array(items) => redact_each(items.iter_mut()),
        Value::Object(fields) => redact_each(fields.values_mut()),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Redacts every one, also after one had a value.
fn redact_each<'a>(documents: impl Iterator<Item = &'a mut Value>) -> bool {
    let mut had_value = false;
    for document in documents {
        had_value |= redact_document(document);
    }
    had_value
}

/// What is stored in place of a message, or of a document with messages as JSON; `None` if it has no value. What looks like a document and
/// can't be read as one is a message.
pub fn redact_stored(text: &str) -> Option<String> {
    if text.starts_with(['{', '['])
        && let Ok(mut document) = serde_json::from_str::<Value>(text)
    {
        return redact_document(&mut document).then(|| document.to_string());
    }
    let mut message = text.to_owned();
    redact_message(&mut message).then_some(message)
}

/// Replaces each part in braces that begins with the brace at the end of this mark.
fn redact_behind<'a>(mark: &str, message: &'a str) -> Cow<'a, str> {
    let before = mark.len() - 1;
    let (mut rest, mut redacted) = (message, String::new());
    while let Some(at) = rest.find(mark) {
        let value = &rest[at + before..];
        redacted.push_str(&rest[..at + before]);
        redacted.push('…');
        rest = &value[object_end(value)..];
    }
    if redacted.is_empty() { message.into() } else { (redacted + rest).into() }
}

/// End of the JSON object at the start of `text`, as a byte index.
fn object_end(text: &str) -> usize {
    let (mut depth, mut quoted, mut escaped) = (0_u32, false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '{' if !quoted => depth += 1,
            '}' if !quoted && depth == 1 => return at + 1,
            '}' if !quoted => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_in_messages_and_in_documents_with_messages_are_replaced() {
        let message =
            r#"a: expected string, got &value.valueUnstructured{Value:"}x"}; b: Invalid value: {"c":{}}: no"#;
        let shown = "a: expected string, got &value.valueUnstructured…; b: Invalid value: …: no";
        assert_eq!(redact_values(message), shown);
        assert_eq!(redact_stored(message).as_deref(), Some(shown));
        assert_eq!(redact_stored("Invalid value: 7: it is immutable"), None);
        assert_eq!(redact_stored(&format!("[{message}]")), Some(format!("[{shown}]")));
        let document = json!({"state": "failed", "items": [{"message": message}, 4, null]});
        let stored: Value = serde_json::from_str(&redact_stored(&document.to_string()).unwrap()).unwrap();
        assert_eq!(stored, json!({"state": "failed", "items": [{"message": shown}, 4, null]}));
        assert_eq!(redact_stored(&stored.to_string()), None, "once");
    }
}
