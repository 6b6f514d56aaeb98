//! The values of a chart as text, read and changed by path. Comments and order stay.

use domain::field_path::{FieldPath, scalar_text};
use domain::manifest::yaml_value;
use domain::yaml_edit::{self, EditError};
use leptos::prelude::*;
use serde_json::{Map, Value};

use crate::parsing::parse_text;

/// The text with its value.
#[derive(Debug, Clone, Copy)]
pub struct ValuesText {
    text: RwSignal<String>,
    /// The value of the last text that was valid, and whether the current one is.
    parsed: Memo<(Value, bool)>,
    rejected_edit: RwSignal<Option<EditError>>,
}

impl ValuesText {
    /// The model of a text.
    pub fn new(text: RwSignal<String>) -> Self {
        let parsed = Memo::new(move |before: Option<&(Value, bool)>| {
            let read = text.with(|text| parse_text(|| yaml_value::read(text)));
            match (read, before) {
                (Ok(value), _) => (value.unwrap_or(Value::Null), true),
                (Err(_), Some((value, _))) => (value.clone(), false),
                (Err(_), None) => (Value::Null, false),
            }
        });
        Self { text, parsed, rejected_edit: RwSignal::new(None) }
    }

    /// Why fields can't be changed, or why the last change was not made.
    pub fn error(self) -> Option<String> {
        if !self.parsed.with(|(_, is_valid)| *is_valid) {
            return Some("The YAML is invalid: fix it in the editor, then the form is updated.".to_owned());
        }
        self.rejected_edit.get().map(|why| why.to_string())
    }

    /// The value at a JSON pointer.
    pub fn value(self, path: &str) -> Option<Value> {
        self.parsed.with(|(value, _)| value.pointer(path).cloned())
    }

    /// Whether the text sets something at or below a JSON pointer.
    pub fn is_set(self, path: &str) -> bool {
        self.parsed.with(|(value, _)| value.pointer(path).is_some())
    }

    /// The scalar at a JSON pointer as text; empty if there is none.
    pub fn scalar(self, path: &str) -> String {
        self.parsed.with(|(value, _)| format_scalar(value.pointer(path)))
    }

    /// Sets a value.
    pub fn set(self, path: &str, value: &Value) {
        self.edit(|text| set_value(text, path, value));
    }

    /// Removes a value, so that the chart's default holds.
    pub fn unset(self, path: &str) {
        self.edit(|text| unset_value(text, path));
    }

    fn edit(self, change: impl Fn(&str) -> Result<String, EditError>) {
        match self.text.with_untracked(|text| change(text)) {
            Ok(new) => {
                self.rejected_edit.set(None);
                if self.text.with_untracked(|text| *text != new) {
                    self.text.set(new);
                }
            }
            Err(why) => self.rejected_edit.set(Some(why)),
        }
    }
}

/// A scalar as text; empty for anything else.
pub fn format_scalar(value: Option<&Value>) -> String {
    value.and_then(scalar_text).map(std::borrow::Cow::into_owned).unwrap_or_default()
}

/// The text with the value set.
fn set_value(text: &str, path: &str, value: &Value) -> Result<String, EditError> {
    let parsed: FieldPath = path.parse().unwrap_or_default();
    match yaml_edit::parse_documents(text).first() {
        Some(Some(Value::Object(_))) => yaml_edit::set(text, 0, &parsed, value),
        // Nothing but comments: the first value is written below them.
        None | Some(Some(Value::Null)) => {
            let nested = path.split('/').skip(1).collect::<Vec<_>>().into_iter().rev();
            let whole = nested.fold(value.clone(), |inner, key| {
                let key = key.replace("~1", "/").replace("~0", "~");
                Value::Object(Map::from_iter([(key, inner)]))
            });
            Ok(yaml_edit::add_document(text, &whole))
        }
        Some(Some(_)) => Err(EditError::UnsupportedNotation),
        Some(None) => Err(EditError::InvalidYaml),
    }
}

/// The text without the value, and without the maps above it that are empty then.
fn unset_value(text: &str, path: &str) -> Result<String, EditError> {
    let is_empty = |value: &Value| value.as_object().is_some_and(Map::is_empty);
    let mut text = text.to_owned();
    let mut path = path;
    loop {
        let value = yaml_edit::parse_documents(&text).into_iter().next().flatten().unwrap_or_default();
        let is_only_one = value.as_object().is_some_and(|map| map.len() == 1);
        if is_only_one && path.matches('/').count() == 1 && value.pointer(path).is_some() {
            // Nothing is left but the comments above it. An empty map in braces would make the next value one in braces too.
            let is_above = |line: &&str| line.trim().is_empty() || line.trim_start().starts_with('#');
            return Ok(text.split_inclusive('\n').take_while(is_above).collect());
        }
        text = yaml_edit::remove(&text, 0, &path.parse().unwrap_or_default())?;
        let value = yaml_edit::parse_documents(&text).into_iter().next().flatten().unwrap_or_default();
        match path.rsplit_once('/') {
            Some((above, _)) if !above.is_empty() && value.pointer(above).is_some_and(is_empty) => {
                path = above
            }
            _ => return Ok(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_set_and_removed_and_comments_stay() {
        let text = set_value("# ours\n", "/image/tag", &json!("v2")).unwrap();
        assert_eq!(text, "# ours\nimage:\n  tag: v2\n");
        let text = set_value(&text, "/replicas", &json!(3)).unwrap();
        assert_eq!(text, "# ours\nimage:\n  tag: v2\nreplicas: 3\n");
        assert_eq!(unset_value(&text, "/image/tag").unwrap(), "# ours\nreplicas: 3\n");
        assert_eq!(set_value("", "/a~1b", &json!(true)).unwrap(), "a/b: true\n");
    }

    #[test]
    fn after_the_last_value_is_removed_the_next_one_is_written_in_block_style() {
        let text = unset_value("image:\n  tag: v2\n", "/image/tag").unwrap();
        assert_eq!(text, "");
        assert_eq!(set_value(&text, "/a/b", &json!(1)).unwrap(), "a:\n  b: 1\n");
        let text = unset_value("# ours\ntag: v2\n", "/tag").unwrap();
        assert_eq!(
            set_value(&text, "/a", &json!(1)).unwrap().split_whitespace().collect::<Vec<_>>(),
            ["#", "ours", "a:", "1"]
        );
    }

    #[test]
    fn a_text_that_is_no_map_is_left_to_the_editor() {
        assert_eq!(set_value("a: [", "/a", &json!(1)), Err(EditError::InvalidYaml));
        assert_eq!(set_value("- a\n", "/a", &json!(1)), Err(EditError::UnsupportedNotation));
    }
}
