//! The character U+0000, which PostgreSQL can't store in a text and SQLite cuts texts at. Input with it is rejected; in what clusters
//! report it is replaced, so that one text does not keep the rest of a report from being recorded.

use std::borrow::Cow;

use serde_json::Value;

use crate::kubernetes::field_path::escape_pointer_token;

/// What is wrong with a text that contains it, without the beginning of the sentence.
pub const REJECTION: &str = "contains the character U+0000, which can't be stored";
/// What to do about it.
pub const HINT: &str = "Remove the character; write binary content as base64.";

/// The character as JSON and YAML escape it.
const JSON_ESCAPE: &str = "\\u0000";
/// The character in its place, U+FFFD, escaped.
const REPLACEMENT_ESCAPE: &str = "\\ufffd";

/// Where a value contains the character.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NullCharacter {
    /// JSON pointer of the text, or of the map with a name that contains it.
    pub path: String,
    /// Whether it is in a name of that map.
    pub is_in_name: bool,
}

impl NullCharacter {
    /// What is wrong, in one sentence without a full stop; it begins with what is at the path.
    pub fn describe(&self) -> String {
        if self.is_in_name {
            format!("the name of a field {REJECTION}")
        } else {
            format!("the text {REJECTION}")
        }
    }
}

/// The first text or name in a value that contains the character.
pub fn find_in(value: &Value) -> Option<NullCharacter> {
    let here = |is_in_name| Some(NullCharacter { path: String::new(), is_in_name });
    let below = |token: &str, found: NullCharacter| NullCharacter {
        path: format!("/{}{}", escape_pointer_token(token), found.path),
        ..found
    };
    match value {
        Value::String(text) if text.contains('\0') => here(false),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_in(item).map(|found| below(&index.to_string(), found))),
        Value::Object(map) if map.keys().any(|name| name.contains('\0')) => here(true),
        Value::Object(map) => {
            map.iter().find_map(|(name, value)| find_in(value).map(|found| below(name, found)))
        }
        _ => None,
    }
}

/// Replaces every such character of a text by U+FFFD.
pub fn replace(text: &mut String) {
    if text.contains('\0') {
        *text = text.replace('\0', "\u{fffd}");
    }
}

/// JSON in which every such character of a text or a name is replaced by U+FFFD.
pub fn replace_in_json(json: &str) -> Cow<'_, str> {
    if !json.contains(JSON_ESCAPE) {
        return Cow::Borrowed(json);
    }
    let mut replaced = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        replaced.push_str(before);
        if let Some(after) = escape.strip_prefix(JSON_ESCAPE) {
            replaced.push_str(REPLACEMENT_ESCAPE);
            rest = after;
        } else {
            // An escaped backslash begins no further escape.
            let end = escape.char_indices().nth(2).map_or(escape.len(), |(end, _)| end);
            replaced.push_str(&escape[..end]);
            rest = &escape[end..];
        }
    }
    replaced.push_str(rest);
    Cow::Owned(replaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_first_text_or_name_with_the_character_is_found_at_its_path() {
        let found = |value: Value| find_in(&value).map(|found| (found.path, found.is_in_name));
        assert_eq!(found(json!({"a": ["b", {"c/d": "e\0"}]})), Some(("/a/1/c~1d".to_owned(), false)));
        assert_eq!(found(json!({"a": {"b\0": 1}})), Some(("/a".to_owned(), true)));
        assert_eq!(found(json!("\0")), Some((String::new(), false)));
        assert_eq!(found(json!({"a": ["b", 1, null, true, "\\u0000"]})), None);
    }

    #[test]
    fn in_json_only_the_escape_of_the_character_is_replaced() {
        let value = json!({"a\0": ["\0\0", "\\u0000", "\\\0", "ä\n\"", "\u{1}"]});
        let replaced: Value = serde_json::from_str(&replace_in_json(&value.to_string())).unwrap();
        let expected = json!({"a\u{fffd}": ["\u{fffd}\u{fffd}", "\\u0000", "\\\u{fffd}", "ä\n\"", "\u{1}"]});
        assert_eq!(replaced, expected);
        for kept in ["{\"a\": \"b\"}", "{\"a\": \"\\\\u0000\"}", "\\", "\\ä\\u0000\\"] {
            assert_eq!(replace_in_json(kept), kept.replace("ä\\u0000", "ä\\ufffd"), "{kept}");
        }
    }
}
