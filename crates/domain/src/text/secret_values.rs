//! Secrets in the values of charts: which ones are hidden, by the schema of the chart, by their names and by their formats.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::kubernetes::field_path::{FieldPath, PathSegment};
use crate::text::bounded_json;
use crate::text::manifest::yaml_value;
use crate::text::secret_name::{has_high_entropy, has_secret_format, is_secret_name, looks_like_secret};
use crate::text::secret_text::HIDDEN_VALUE;
use crate::text::yaml_edit::{self, EditBudget};

/// Most values of a `values.schema.json` that is read. Large schemas of charts have a tenth of it.
pub const MAX_SCHEMA_VALUES: usize = 50_000;
/// Endings of names that contain a part of a secret's name and refer to an object.
const REFERENCE_ENDINGS: [&str; 3] = ["existingsecret", "pullsecret", "pullsecrets"];
/// Most schemas that are followed for one place of the values; a place with more is hidden.
const MAX_SCHEMAS: usize = 64;
/// Most values that are hidden in a text without rewriting it, because every edit parses it again.
const MAX_EDITS: usize = 40;
/// What is shown of values that can't be read.
const HIDDEN_TEXT: &str = "# (hidden: these values can't be read and may contain a secret)\n";

/// Which values of a chart are secrets.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum SecretMarks {
    /// Those whose name or format is that of a secret.
    #[default]
    Names,
    /// Also those that the schema of the chart marks: `writeOnly: true` or `format: password`.
    Schema(Arc<Value>),
    /// Not known, because the schema can't be read, or has too many values: any of them.
    Unknown,
}

/// The schemas of a place in the values; `None` if there are too many to be followed.
type Schemas<'s> = Option<Vec<&'s Value>>;

impl SecretMarks {
    /// The marks of the text of `values.schema.json`; empty for a chart without one. They are unknown if it has more than
    /// [`MAX_SCHEMA_VALUES`].
    pub fn from_schema(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self::Names;
        }
        bounded_json::read(text, MAX_SCHEMA_VALUES)
            .map_or(Self::Unknown, |schema| Self::Schema(Arc::new(schema)))
    }

    /// Replaces every secret by [`HIDDEN_VALUE`].
    pub fn hide_in_value(&self, values: &mut Value) {
        let (root, is_secret) = match self {
            Self::Names => (&Value::Null, false),
            Self::Schema(schema) => (&**schema, false),
            Self::Unknown => (&Value::Null, true),
        };
        let schemas = expand(root, vec![root]);
        hide(values, is_secret || is_marked(&schemas), root, &schemas);
    }

    /// The same for a map of values.
    pub fn hide_in_map(&self, values: &mut Map<String, Value>) {
        let mut all = Value::Object(std::mem::take(values));
        self.hide_in_value(&mut all);
        if let Value::Object(hidden) = all {
            *values = hidden;
        }
    }

    /// Whether the value of the leaf at this JSON pointer is a secret or contains one.
    pub fn is_secret_path(&self, pointer: &str, value: &Value) -> bool {
        let mut nested = value.clone();
        for token in pointer.rsplit('/').filter(|token| !token.is_empty()) {
            let key = token.replace("~1", "/").replace("~0", "~");
            nested = Value::Object(Map::from_iter([(key, nested)]));
        }
        let before = nested.clone();
        self.hide_in_value(&mut nested);
        nested != before
    }

    /// The text of values with every secret replaced by [`HIDDEN_VALUE`], and otherwise as it is. Comments are left out if one of them looks
    /// like a setting of a secret, or if there are many secrets.
    pub fn hide_in_text(&self, text: &str) -> String {
        self.hide_within(text, &mut EditBudget::default())
    }

    /// The same with a budget that several texts have together.
    pub fn hide_within(&self, text: &str, budget: &mut EditBudget) -> String {
        if text.trim().is_empty() {
            return text.to_owned();
        }
        let values = match yaml_value::read(text) {
            Ok(Some(values)) => values,
            Ok(None) if has_secret_comment(text) => return String::new(),
            Ok(None) => return text.to_owned(),
            Err(_) => return HIDDEN_TEXT.to_owned(),
        };
        let mut hidden = values.clone();
        self.hide_in_value(&mut hidden);
        // Counted first: each path has a copy of all keys that lead to its value.
        let changed = count_changed(&values, &hidden);
        if changed > MAX_EDITS || has_secret_comment(text) || !budget.charge(text.len(), changed) {
            return yaml_value::write(&hidden);
        }
        let mut paths = Vec::new();
        collect_changed((&values, &hidden), &mut FieldPath::default(), &mut paths);
        let mut shown = text.to_owned();
        for path in &paths {
            match yaml_edit::set(&shown, 0, path, &HIDDEN_VALUE.into()) {
                Ok(edited) => shown = edited,
                Err(_) => return yaml_value::write(&hidden),
            }
        }
        shown
    }
}

fn hide(value: &mut Value, is_below_secret: bool, root: &Value, schemas: &Schemas<'_>) {
    match value {
        Value::Object(fields) => {
            // As variables of a container stand in values: {name: DB_PASSWORD, value: …}.
            let has_secret_entry = fields.get("name").and_then(Value::as_str).is_some_and(is_secret_key);
            for (key, field) in fields.iter_mut() {
                let below = expand_below(root, schemas, |schema| find_properties(schema, key));
                let is_named = is_secret_key(key) || (has_secret_entry && key == "value");
                hide(field, is_below_secret || is_named || is_marked(&below), root, &below);
            }
        }
        Value::Array(items) => {
            let below = expand_below(root, schemas, find_items);
            let is_secret = is_below_secret || is_marked(&below);
            for item in items {
                hide(item, is_secret, root, &below);
            }
        }
        Value::String(text) if !text.is_empty() && (is_below_secret || is_secret_text(text)) => {
            *value = HIDDEN_VALUE.into();
        }
        Value::Number(_) if is_below_secret => *value = HIDDEN_VALUE.into(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

fn is_secret_key(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    is_secret_name(key) && !REFERENCE_ENDINGS.iter().any(|end| lower.ends_with(end))
}

/// Whether a text is a secret whatever its name is, or has a line that sets one.
fn is_secret_text(text: &str) -> bool {
    has_secret_format(text)
        || has_high_entropy(text)
        || has_password_in_url(text)
        || text.lines().any(is_secret_setting)
}

/// Whether a text contains an address with a password: `scheme://user:password@host`.
fn has_password_in_url(text: &str) -> bool {
    text.split("://").skip(1).any(|rest| {
        let end = rest.find(['/', '?', '#', ' ', '\n', '"', '\'']).unwrap_or(rest.len());
        let user = rest[..end].rsplit_once('@').map_or("", |(user, _)| user);
        user.split_once(':').is_some_and(|(_, password)| !password.is_empty())
    })
}

/// Whether a line is `name=secret` or `name: secret`.
fn is_secret_setting(line: &str) -> bool {
    let Some((name, value)) = line.split_once(['=', ':']) else { return false };
    let name = name.trim().trim_start_matches(['-', '#', ' ']).trim_matches(['"', '\'', ' ']);
    let is_name = name.len() <= 100 && !name.is_empty() && !name.contains(' ');
    is_name && looks_like_secret(name, value.trim().trim_matches(['"', '\'', ',']))
}

/// Whether a comment looks like a setting of a secret, as one that was commented out.
fn has_secret_comment(text: &str) -> bool {
    text.lines().filter_map(|line| line.split_once('#')).any(|(_, comment)| is_secret_text(comment.trim()))
}

fn is_marked(schemas: &Schemas<'_>) -> bool {
    let Some(schemas) = schemas else { return true };
    schemas.iter().any(|schema| schema["writeOnly"] == true || schema["format"] == "password")
}

/// The schemas of a place below another one.
fn expand_below<'s>(
    root: &'s Value,
    schemas: &Schemas<'s>,
    find: impl Fn(&'s Value) -> Vec<&'s Value>,
) -> Schemas<'s> {
    expand(root, schemas.as_ref()?.iter().copied().flat_map(find).collect())
}

/// These schemas and those that they refer to or consist of. References to other files are not followed: they are not fetched either
/// when the values are checked.
fn expand<'s>(root: &'s Value, mut schemas: Vec<&'s Value>) -> Schemas<'s> {
    let mut at = 0;
    while let Some(schema) = schemas.get(at).copied() {
        at += 1;
        let reference = schema["$ref"].as_str().and_then(|reference| reference.strip_prefix('#'));
        let referred = reference.and_then(|pointer| root.pointer(pointer));
        let lists =
            ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
        let parts = ["if", "then", "else"].into_iter().filter_map(|key| schema.get(key));
        for more in referred.into_iter().chain(lists).chain(parts) {
            if !schemas.iter().any(|known| std::ptr::eq(*known, more)) {
                schemas.push(more);
            }
        }
        if schemas.len() > MAX_SCHEMAS {
            return None;
        }
    }
    Some(schemas)
}

fn find_properties<'s>(schema: &'s Value, key: &str) -> Vec<&'s Value> {
    let named = schema["properties"].get(key);
    let patterns = schema["patternProperties"].as_object().into_iter().flat_map(Map::values);
    let others = schema.get("additionalProperties").filter(|_| named.is_none());
    named.into_iter().chain(patterns).chain(others).collect()
}

fn find_items(schema: &Value) -> Vec<&Value> {
    let lists = ["items", "prefixItems"].into_iter().filter_map(|key| schema[key].as_array()).flatten();
    let single = schema.get("items").filter(|items| items.is_object());
    lists.chain(single).chain(schema.get("additionalItems")).collect()
}

/// How many paths [`collect_changed`] finds.
fn count_changed(before: &Value, after: &Value) -> usize {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            let both = old.iter().filter_map(|(key, old)| Some((old, new.get(key)?)));
            both.map(|(old, new)| count_changed(old, new)).sum()
        }
        (Value::Array(old), Value::Array(new)) => {
            old.iter().zip(new).map(|(old, new)| count_changed(old, new)).sum()
        }
        (before, after) => usize::from(before != after),
    }
}

/// The paths of the values that differ. `path` leads to both.
fn collect_changed((before, after): (&Value, &Value), path: &mut FieldPath, paths: &mut Vec<FieldPath>) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) => {
            for (key, old) in old {
                if let Some(new) = new.get(key) {
                    path.0.push(PathSegment::Key(key.clone()));
                    collect_changed((old, new), path, paths);
                    path.0.pop();
                }
            }
        }
        (Value::Array(old), Value::Array(new)) => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                path.0.push(PathSegment::Key(at.to_string()));
                collect_changed((old, new), path, paths);
                path.0.pop();
            }
        }
        (before, after) if before == after => {}
        _ => paths.push(path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hide_by_names(values: Value) -> Value {
        let mut hidden = values;
        SecretMarks::Names.hide_in_value(&mut hidden);
        hidden
    }

    #[test]
    fn values_with_the_name_of_a_secret_are_hidden_with_all_below_them() {
        let values = json!({
            "auth": {"password": "hunter2", "pin": {"apiToken": 1234}, "username": "ada"},
            "secrets": {"db": ["hunter2"]}, "existingSecret": "db", "imagePullSecrets": [{"name": "regcred"}],
            "tokenEnabled": true, "password": "", "replicas": 2,
        });
        let expected = json!({
            "auth": {"password": HIDDEN_VALUE, "pin": {"apiToken": HIDDEN_VALUE}, "username": "ada"},
            "secrets": {"db": [HIDDEN_VALUE]}, "existingSecret": "db", "imagePullSecrets": [{"name": "regcred"}],
            "tokenEnabled": true, "password": "", "replicas": 2,
        });
        assert_eq!(hide_by_names(values), expected);
    }

    #[test]
    fn values_with_the_format_of_a_secret_are_hidden_whatever_their_name_is() {
        for secret in [
            "postgres://app:hunter2@db/shop",
            "AKIAIOSFODNN7EXAMPLE",
            "-----BEGIN RSA PRIVATE KEY-----\nabc",
            "[db]\nuser = app\npassword = hunter2\n",
        ] {
            assert_eq!(hide_by_names(json!({"config": secret})), json!({"config": HIDDEN_VALUE}), "{secret}");
        }
        for plain in ["https://example.com/a:b@c", "nginx:1.29", "a = b", "https://ada@example.com"] {
            assert_eq!(hide_by_names(json!({"config": plain})), json!({"config": plain}));
        }
        let variables =
            json!({"env": [{"name": "DB_PASSWORD", "value": "x"}, {"name": "MODE", "value": "x"}]});
        let hidden = hide_by_names(variables);
        assert_eq!(
            (&hidden["env"][0]["value"], &hidden["env"][1]["value"]),
            (&json!(HIDDEN_VALUE), &json!("x"))
        );
    }

    #[test]
    fn values_that_the_schema_marks_are_hidden_through_references_lists_and_alternatives() {
        let schema = json!({
            "properties": {
                "admin": {"$ref": "#/$defs/user"},
                "users": {"items": {"$ref": "#/$defs/user"}},
                "pins": {"additionalProperties": {"anyOf": [{"type": "null"}, {"format": "password"}]}},
            },
            "$defs": {"user": {"properties": {"key": {"writeOnly": true}, "self": {"$ref": "#/$defs/user"}}}},
        });
        let marks = SecretMarks::from_schema(&schema.to_string());
        let mut values = json!({"admin": {"key": "a", "self": {"key": "b"}}, "users": [{"key": "c", "name": "d"}],
            "pins": {"x": "e"}, "other": "f"});
        marks.hide_in_value(&mut values);
        let hidden = HIDDEN_VALUE;
        assert_eq!(
            values,
            json!({"admin": {"key": hidden, "self": {"key": hidden}}, "users": [{"key": hidden, "name": "d"}],
                "pins": {"x": hidden}, "other": "f"})
        );
        assert!(
            marks.is_secret_path("/admin/key", &json!("a")) && !marks.is_secret_path("/other", &json!("a"))
        );
    }

    #[test]
    fn every_value_is_hidden_if_the_schema_cannot_be_read() {
        let marks = SecretMarks::from_schema("{not json");
        assert_eq!(marks, SecretMarks::Unknown);
        assert_eq!(marks.hide_in_text("size: large\nready: true\n"), "size: \"(hidden)\"\nready: true\n");
    }

    #[test]
    fn p19_every_value_is_hidden_if_the_schema_has_too_many_values_to_be_read() {
        let schema = |values: usize| format!("{{\"x\":[{}0]}}", "0,".repeat(values - 3));
        assert!(matches!(SecretMarks::from_schema(&schema(MAX_SCHEMA_VALUES)), SecretMarks::Schema(_)));
        let marks = SecretMarks::from_schema(&schema(MAX_SCHEMA_VALUES + 1));
        assert_eq!(marks, SecretMarks::Unknown);
        assert_eq!(marks.hide_in_text("size: large\n"), "size: \"(hidden)\"\n");
    }

    #[test]
    fn a_text_keeps_its_comments_unless_one_of_them_sets_a_secret() {
        let text = "# The sizes.\nsize: large # of all\npassword: hunter2 # ask ada\n";
        let shown = SecretMarks::Names.hide_in_text(text);
        assert!(shown.contains("size: large # of all") && shown.contains("# The sizes."), "{shown}");
        assert!(!shown.contains("hunter2") && shown.contains(HIDDEN_VALUE), "{shown}");
        for text in ["size: large\n# password: hunter2\n", "# password: hunter2\n", "password: [hunter2\n"] {
            assert!(!SecretMarks::Names.hide_in_text(text).contains("hunter2"), "{text}");
        }
        assert_eq!(SecretMarks::Names.hide_in_text("a: {b: 1} # c\n"), "a: {b: 1} # c\n");
    }

    #[test]
    fn p19_secrets_of_several_texts_are_hidden_with_edits_of_one_budget() {
        let secrets: String = (0..10).map(|n| format!("password{n}: hunter2\n")).collect();
        let text = format!("# note\n{secrets}long: {}\n", "x".repeat(200_000));
        let mut budget = EditBudget::default();
        let shown: Vec<String> = (0..3).map(|_| SecretMarks::Names.hide_within(&text, &mut budget)).collect();
        assert!(shown.iter().all(|shown| !shown.contains("hunter2") && shown.contains(HIDDEN_VALUE)));
        let comments = shown.iter().filter(|shown| shown.contains("# note")).count();
        assert_eq!(comments, 2, "the last one is written again");
    }

    #[test]
    fn many_secrets_are_hidden_in_one_pass() {
        let text: String = (0..500).map(|n| format!("password{n}: hunter2\n")).collect();
        let shown = SecretMarks::Names.hide_in_text(&text);
        assert!(!shown.contains("hunter2") && shown.matches(HIDDEN_VALUE).count() == 500, "{shown}");
    }
}
