//! Builds the fields: one for every key of the default values and of the schema.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::schema::ValueSchema;
use super::{FieldKind, ValuesField, ValuesForm};
use crate::kubernetes::field_path::escape_pointer_token;

/// Most fields of a form; a larger chart is edited as YAML beyond it.
const MAX_FIELDS: usize = 2_000;
/// Most maps inside each other that have fields of their own.
const MAX_DEPTH: usize = 12;
/// Longest description, in characters.
const MAX_DESCRIPTION_CHARS: usize = 300;
/// Most memory of the fields together, in bytes. A schema of a few kilobytes can refer to one definition from every field, and a
/// long key is a part of the path of every field below it.
const MAX_FORM_BYTES: usize = 2 << 20;

pub(super) fn build_form(
    defaults: &Value,
    schema: Option<&Value>,
    descriptions: &BTreeMap<String, String>,
) -> ValuesForm {
    let schema = schema.and_then(ValueSchema::new);
    let mut builder = FormBuilder {
        descriptions,
        remaining: MAX_FIELDS,
        remaining_bytes: MAX_FORM_BYTES,
        is_truncated: false,
    };
    let fields = builder.build_fields(defaults.as_object(), schema, "", 0);
    ValuesForm {
        fields,
        has_schema: schema.is_some(),
        is_schema_too_large: false,
        is_truncated: builder.is_truncated,
    }
}

struct FormBuilder<'a> {
    descriptions: &'a BTreeMap<String, String>,
    /// How many more fields there may be.
    remaining: usize,
    /// How many more bytes they may have.
    remaining_bytes: usize,
    is_truncated: bool,
}

impl FormBuilder<'_> {
    fn build_fields(
        &mut self,
        defaults: Option<&Map<String, Value>>,
        schema: Option<ValueSchema<'_>>,
        parent: &str,
        depth: usize,
    ) -> Vec<ValuesField> {
        let mut keys: Vec<&str> = defaults.into_iter().flat_map(Map::keys).map(String::as_str).collect();
        for key in schema.into_iter().flat_map(ValueSchema::keys) {
            if !defaults.is_some_and(|defaults| defaults.contains_key(key)) {
                keys.push(key);
            }
        }
        let mut fields = Vec::with_capacity(keys.len().min(self.remaining));
        for key in keys {
            if self.remaining == 0 {
                self.is_truncated = true;
                break;
            }
            let default = defaults.and_then(|defaults| defaults.get(key));
            let own = schema.and_then(|schema| schema.property(key));
            let shown_default = default.or(own.and_then(ValueSchema::default));
            let options = own.and_then(ValueSchema::options).unwrap_or_default();
            let path = format!("{parent}/{}", escape_pointer_token(key));
            let description = self.describe(own, &path);
            let text_bytes = key.len() + path.len() + description.len();
            if !self.reserve(text_bytes, shown_default.into_iter().chain(options)) {
                break;
            }
            self.remaining -= 1;
            fields.push(ValuesField {
                key: key.to_owned(),
                description,
                is_required: schema.is_some_and(|schema| schema.requires(key)),
                kind: self.decide_kind(default, own, &path, depth),
                default: shown_default.cloned(),
                path,
            });
        }
        fields
    }

    /// Takes what a field copies from the budget; `false` if it is not there, which ends the form.
    fn reserve<'v>(&mut self, text_bytes: usize, values: impl Iterator<Item = &'v Value>) -> bool {
        let mut bytes = size_of::<ValuesField>().saturating_add(text_bytes);
        for value in values {
            add_bytes(value, &mut bytes, self.remaining_bytes);
            if bytes > self.remaining_bytes {
                break;
            }
        }
        match self.remaining_bytes.checked_sub(bytes) {
            Some(rest) => {
                self.remaining_bytes = rest;
                true
            }
            None => {
                self.remaining = 0;
                self.is_truncated = true;
                false
            }
        }
    }

    /// The schema's description, or the comment in `values.yaml`.
    fn describe(&self, schema: Option<ValueSchema<'_>>, path: &str) -> String {
        let of_schema = schema.map_or("", |schema| match schema.text("description") {
            "" => schema.text("title"),
            description => description,
        });
        let text = match of_schema {
            "" => self.descriptions.get(path).map_or("", String::as_str),
            text => text,
        };
        text.chars().take(MAX_DESCRIPTION_CHARS).filter(|c| !c.is_control()).collect()
    }

    fn decide_kind(
        &mut self,
        default: Option<&Value>,
        schema: Option<ValueSchema<'_>>,
        path: &str,
        depth: usize,
    ) -> FieldKind {
        if let Some(options) = schema.and_then(ValueSchema::options) {
            let options = options.iter().filter(|value| !value.is_null()).cloned().collect();
            return FieldKind::Choice { options };
        }
        let types = schema.map(ValueSchema::types).unwrap_or_default();
        match types.as_slice() {
            ["boolean"] => FieldKind::Boolean,
            ["integer" | "number"] => {
                let limit = |name: &str| schema.and_then(|schema| schema.limit(name));
                let (minimum, maximum) = (limit("minimum"), limit("maximum"));
                FieldKind::Number { integer: types == ["integer"], minimum, maximum }
            }
            ["string"] => FieldKind::Text,
            ["array"] => decide_list(default, schema),
            ["object"] => self.decide_map(default, schema, path, depth),
            [] => match default {
                Some(Value::Bool(_)) => FieldKind::Boolean,
                Some(Value::Number(number)) => FieldKind::Number {
                    integer: number.is_i64() || number.is_u64(),
                    minimum: None,
                    maximum: None,
                },
                Some(Value::String(_)) => FieldKind::Text,
                Some(Value::Array(_)) => decide_list(default, schema),
                Some(Value::Object(_)) => self.decide_map(default, schema, path, depth),
                None | Some(Value::Null) => FieldKind::Yaml,
            },
            several if several.iter().any(|name| matches!(*name, "object" | "array")) => FieldKind::Yaml,
            _ => FieldKind::Scalar,
        }
    }

    fn decide_map(
        &mut self,
        default: Option<&Value>,
        schema: Option<ValueSchema<'_>>,
        path: &str,
        depth: usize,
    ) -> FieldKind {
        if depth >= MAX_DEPTH {
            return FieldKind::Yaml;
        }
        let fields = self.build_fields(default.and_then(Value::as_object), schema, path, depth + 1);
        // A map without known keys, such as that of labels.
        if fields.is_empty() { FieldKind::Yaml } else { FieldKind::Section { fields } }
    }
}

/// Adds the memory of a value; ends when there is more than `most`.
fn add_bytes(value: &Value, bytes: &mut usize, most: usize) {
    *bytes = bytes.saturating_add(size_of::<Value>());
    match value {
        Value::String(text) => *bytes = bytes.saturating_add(text.len()),
        Value::Array(items) => {
            for item in items {
                if *bytes > most {
                    return;
                }
                add_bytes(item, bytes, most);
            }
        }
        Value::Object(map) => {
            for (key, child) in map {
                if *bytes > most {
                    return;
                }
                *bytes = bytes.saturating_add(key.len());
                add_bytes(child, bytes, most);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Lines for a list of scalars, YAML for any other.
fn decide_list(default: Option<&Value>, schema: Option<ValueSchema<'_>>) -> FieldKind {
    let is_scalar_type = |name: &&str| matches!(*name, "string" | "integer" | "number");
    let types = schema.and_then(ValueSchema::items).map(ValueSchema::types).unwrap_or_default();
    if !types.is_empty() {
        return if types.iter().all(is_scalar_type) { FieldKind::List } else { FieldKind::Yaml };
    }
    let items = default.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let is_scalar = |value: &Value| value.is_string() || value.is_number();
    if !items.is_empty() && items.iter().all(is_scalar) { FieldKind::List } else { FieldKind::Yaml }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::MAX_SCHEMA_BYTES;
    use super::*;
    use crate::text::secret_values::MAX_SCHEMA_VALUES;

    /// One line per field: path, kind, default.
    fn describe(fields: &[ValuesField]) -> Vec<String> {
        let mut lines = Vec::new();
        for field in fields {
            let default = field.default.as_ref().map(Value::to_string).unwrap_or_default();
            match &field.kind {
                FieldKind::Section { fields } => {
                    lines.push(format!("{} section", field.path));
                    lines.extend(describe(fields));
                }
                kind => {
                    let kind = serde_json::to_value(kind).unwrap();
                    let required = if field.is_required { " required" } else { "" };
                    let name = kind["type"].as_str().unwrap();
                    lines.push(format!("{} {name} {default}{required}", field.path));
                }
            }
        }
        lines
    }

    #[test]
    fn types_come_from_the_schema_and_otherwise_from_the_defaults() {
        let defaults = json!({
            "replicaCount": 1, "image": {"tag": "", "pull": "Always"}, "nodeSelector": {}, "args": ["-v", 2],
            "extra": [], "ingress": {"hosts": [{"host": "a"}]}, "override": null, "on": true, "port": "http",
        });
        let schema = json!({
            "required": ["image"],
            "properties": {
                "replicaCount": {"type": "integer", "minimum": 0},
                "image": {"$ref": "#/definitions/image"},
                "extra": {"type": "array", "items": {"type": ["string", "null"]}},
                "port": {"type": ["string", "integer"]},
                "only": {"oneOf": [{"type": "null"}, {"type": "boolean", "default": false}]},
            },
            "definitions": {"image": {"type": "object", "required": ["tag"], "properties": {
                "pull": {"enum": ["Always", "Never"]}, "tag": {"type": "string"}, "digest": {"type": ["string", "null"]},
            }}},
        });
        let form = ValuesForm::build(&defaults, Some(&schema), &BTreeMap::new());
        assert!(form.has_schema && !form.is_truncated);
        let expected = [
            "/replicaCount number 1",
            "/image section",
            "/image/tag text \"\" required",
            "/image/pull choice \"Always\"",
            "/image/digest text ",
            "/nodeSelector yaml {}",
            "/args list [\"-v\",2]",
            "/extra list []",
            "/ingress section",
            "/ingress/hosts yaml [{\"host\":\"a\"}]",
            "/override yaml null",
            "/on boolean true",
            "/port scalar \"http\"",
            "/only boolean false",
        ];
        assert_eq!(describe(&form.fields), expected);
    }

    #[test]
    fn a_recursive_schema_ends_and_another_document_is_not_followed() {
        let schema = json!({"$ref": "#/definitions/tree", "definitions": {"tree": {
            "properties": {"left": {"$ref": "#/definitions/tree"}, "right": {"$ref": "#/definitions/tree"}},
        }}});
        let form = ValuesForm::build(&json!({}), Some(&schema), &BTreeMap::new());
        assert!(form.is_truncated, "at most {MAX_FIELDS} fields");
        let cycle = json!({"$ref": "#/definitions/a", "definitions": {"a": {"$ref": "#/definitions/a"}}});
        assert!(!ValuesForm::build(&json!({"a": 1}), Some(&cycle), &BTreeMap::new()).has_schema);
        let remote = json!({"$ref": "https://example.com/values.schema.json"});
        let form = ValuesForm::build(&json!({"a": 1}), Some(&remote), &BTreeMap::new());
        assert!(!form.has_schema && form.fields.len() == 1);
    }

    /// The bytes of a form as JSON, which is what a hostile schema makes large.
    fn json_bytes(form: &ValuesForm) -> usize {
        serde_json::to_string(form).unwrap().len()
    }

    #[test]
    fn p19_a_schema_that_repeats_one_large_definition_makes_no_large_form() {
        let repeat = |definition: Value| {
            let field = |number: usize| (format!("f{number}"), json!({"$ref": "#/definitions/large"}));
            let properties: Map<String, Value> = (0..MAX_FIELDS - 1).map(field).collect();
            let schema = json!({"properties": properties, "definitions": {"large": definition}});
            ValuesForm::build(&json!({}), Some(&schema), &BTreeMap::new())
        };
        let small = repeat(json!({"type": "string", "default": "x"}));
        assert!(!small.is_truncated && small.fields.len() == MAX_FIELDS - 1);
        let long_key = "x".repeat(100_000);
        let options: Vec<Value> = (0..900).map(|number| json!(format!("option-{number}"))).collect();
        for definition in [
            json!({"type": "string", "default": "x".repeat(100_000)}),
            json!({"type": "array", "default": vec![0; 100_000]}),
            json!({"type": "object", "default": {(long_key.as_str()): 1}}),
            json!({"type": "string", "enum": options}),
        ] {
            let form = repeat(definition);
            assert!(form.is_truncated && form.has_schema);
            assert!(json_bytes(&form) < 2 * MAX_FORM_BYTES, "{}", json_bytes(&form));
        }
        let many: Vec<Value> = (0..100_000).map(|number| json!(number)).collect();
        let form = repeat(json!({"type": "string", "enum": many}));
        assert!(matches!(form.fields[0].kind, FieldKind::Text), "too many values for a choice");
    }

    #[test]
    fn p19_a_long_key_is_not_repeated_in_the_paths_of_a_form_without_a_bound() {
        let below: Map<String, Value> = (0..1_990).map(|number| (format!("f{number}"), json!(1))).collect();
        let mut defaults = Map::new();
        defaults.insert("first".to_owned(), json!(1));
        defaults.insert("K".repeat(100_000), Value::Object(below));
        let form = ValuesForm::build(&Value::Object(defaults), None, &BTreeMap::new());
        assert!(form.is_truncated && form.fields[0].path == "/first");
        assert!(json_bytes(&form) < 2 * MAX_FORM_BYTES, "{}", json_bytes(&form));
    }

    #[test]
    fn p19_no_form_is_made_of_a_schema_that_is_too_large_and_it_says_so() {
        let schema = |bytes: usize| {
            json!({"properties": {"a": {"type": "string"}}, "x": "x".repeat(bytes)}).to_string()
        };
        let build = |text: &str| ValuesForm::build_with_text(&json!({"a": 1}), text, &BTreeMap::new());
        let small = build(&schema(1_000));
        assert!(small.has_schema && !small.is_schema_too_large);
        let large = build(&schema(MAX_SCHEMA_BYTES));
        assert!(!large.has_schema && large.is_schema_too_large);
        assert!(matches!(large.fields[0].kind, FieldKind::Number { .. }), "by its default");
        let many =
            json!({"properties": {"a": {"type": "string"}}, "x": vec![0; MAX_SCHEMA_VALUES]}).to_string();
        assert!(many.len() < MAX_SCHEMA_BYTES && build(&many).is_schema_too_large);
        assert!(!build("{no json").is_schema_too_large);
    }

    #[test]
    fn a_field_has_the_description_of_the_schema_or_of_the_comment() {
        let schema = json!({"properties": {"a": {"description": "of the schema"}}});
        let comments =
            ["/a", "/b"].into_iter().map(|path| (path.to_owned(), format!("comment of {path}"))).collect();
        let form = ValuesForm::build(&json!({"a": 1, "b": 2}), Some(&schema), &comments);
        let texts: Vec<&str> = form.fields.iter().map(|field| field.description.as_str()).collect();
        assert_eq!(texts, ["of the schema", "comment of /b"]);
        assert!(form.fields[1].matches("comment b") && !form.fields[1].matches("schema"));
    }
}
