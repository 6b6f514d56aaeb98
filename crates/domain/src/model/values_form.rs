//! The values of a chart as fields of a form: from its default values, its `values.schema.json` and the comments in its
//! `values.yaml`, whichever of them it has.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::bounded_json::{self, UnreadableJson};
use crate::text::secret_values::MAX_SCHEMA_VALUES;

mod build;
mod schema;

/// Largest schema of which a form is made, in bytes; values are checked with larger ones too, when the chart is rendered.
pub const MAX_SCHEMA_BYTES: usize = 1 << 20;

/// The fields of a form for the values of a chart.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValuesForm {
    /// The fields of the top level: in the order of `values.yaml`, then those that only the schema names.
    pub fields: Vec<ValuesField>,
    /// Whether types and limits come from a schema of the chart; otherwise they follow from the default values.
    pub has_schema: bool,
    /// Whether the chart has a schema that is larger than [`MAX_SCHEMA_BYTES`], or has more values than
    /// [`MAX_SCHEMA_VALUES`], so that the form is made without it.
    #[serde(default)]
    pub is_schema_too_large: bool,
    /// Whether the chart has more values than the form shows.
    pub is_truncated: bool,
}

/// One value, or one map of values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ValuesField {
    /// The key in its map.
    pub key: String,
    /// JSON pointer in the values.
    pub path: String,
    /// What it is, in the author's words; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether the schema requires it.
    #[serde(default)]
    pub is_required: bool,
    /// The chart's default; `None` if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// How it is edited.
    pub kind: FieldKind,
}

/// How a value is edited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum FieldKind {
    /// A map with known keys.
    Section {
        /// Its fields.
        fields: Vec<ValuesField>,
    },
    /// `true` or `false`.
    Boolean,
    /// A number.
    Number {
        /// Whether it has no fraction.
        integer: bool,
        /// The smallest value.
        minimum: Option<f64>,
        /// The largest value.
        maximum: Option<f64>,
    },
    /// A text.
    Text,
    /// A text, a number or a boolean: what is entered is read as YAML.
    Scalar,
    /// One of these values.
    Choice {
        /// The values.
        options: Vec<Value>,
    },
    /// A list of texts and numbers, one per line.
    List,
    /// Anything else, as YAML.
    Yaml,
}

impl ValuesForm {
    /// The form for a chart with these default values, this schema (`None` without a usable one) and these descriptions of
    /// values by JSON pointer.
    pub fn build(defaults: &Value, schema: Option<&Value>, descriptions: &BTreeMap<String, String>) -> Self {
        build::build_form(defaults, schema, descriptions)
    }

    /// The same with the text of the schema, which is empty without one. A text that is no JSON counts as none.
    pub fn build_with_text(defaults: &Value, schema: &str, descriptions: &BTreeMap<String, String>) -> Self {
        let read = match schema.len() {
            ..=MAX_SCHEMA_BYTES => bounded_json::read::<Value>(schema, MAX_SCHEMA_VALUES),
            _ => return Self::build_without_schema(defaults, descriptions),
        };
        match read {
            Ok(schema) => Self::build(defaults, Some(&schema), descriptions),
            Err(UnreadableJson::TooManyValues { .. }) => Self::build_without_schema(defaults, descriptions),
            Err(UnreadableJson::Invalid(_)) => Self::build(defaults, None, descriptions),
        }
    }

    /// The form for a chart whose schema is too large.
    pub fn build_without_schema(defaults: &Value, descriptions: &BTreeMap<String, String>) -> Self {
        Self { is_schema_too_large: true, ..Self::build(defaults, None, descriptions) }
    }
}

impl ValuesField {
    /// Whether its key, its path or its description contains the words, which are in lower case.
    pub fn matches(&self, words: &str) -> bool {
        let texts = [&self.path, &self.description];
        words.split_whitespace().all(|word| {
            let is_in = |text: &&String| text.to_lowercase().contains(word);
            texts.iter().any(is_in)
        })
    }
}
