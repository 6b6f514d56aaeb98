//! Values that a chart does not know (G114): most often a typing error, which Helm ignores.

use std::collections::HashSet;

use domain::bounded_json::VALUE_BYTES;
use domain::field_path::escape_pointer_token;
use domain::manifest::yaml_value;
use domain::nearest::find_nearest;
use serde_json::{Map, Value};

use crate::archive::ChartArchive;

/// Most values that are reported.
const MAX_REPORTED: usize = 20;
/// Most values of the default values that are compared. Large charts have a quarter of it.
const MAX_DEFAULTS: usize = 20_000;
/// Most memory for the words of a chart, in bytes: some 50 000 of the usual length. Large charts have a fifth of it.
const MAX_WORD_BYTES: usize = 4 << 20;
/// What a word needs beside its text: its part of the set, and of the allocator.
const WORD_BYTES: usize = 64;
/// Longest word that is a key, in bytes: values with a longer key are not read.
const MAX_KEY_BYTES: usize = 4 << 10;

/// A value that a chart does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownValue {
    /// JSON pointer in the values.
    pub path: String,
    /// Its key.
    pub key: String,
    /// The key beside it in the default values that is spelled most like it.
    pub nearest: Option<String>,
}

/// What a chart knows of its values.
#[derive(Debug, Clone)]
pub struct KnownValues {
    defaults: Map<String, Value>,
    /// Every word in its templates, default values and schemas, those of its subcharts included; `None` if there are too many.
    words: Option<HashSet<Box<str>>>,
    bytes: u64,
}

impl KnownValues {
    /// What reading them needs in memory beside the chart, in bytes.
    pub const READ_BYTES: u64 =
        MAX_DEFAULTS as u64 * yaml_value::READ_VALUE_BYTES + 2 * MAX_WORD_BYTES as u64;

    /// Reads what a chart knows.
    pub fn read(chart: &ChartArchive) -> Self {
        let defaults = match yaml_value::read_within(chart.default_values(), MAX_DEFAULTS) {
            Ok(Some(Value::Object(map))) => map,
            // Without readable defaults, only words are compared.
            _ => Map::new(),
        };
        let mut words = WordSet::default();
        for text in chart.evaluated_texts().map(|(_, text)| text).chain(chart.values_schemas()) {
            words.add_text(text);
        }
        chart.subchart_names().for_each(|name| words.add(name));
        let text = if defaults.is_empty() { 0 } else { chart.default_values().len() as u64 };
        let bytes = count_defaults(&defaults) * VALUE_BYTES + text + words.bytes as u64;
        Self { defaults, words: words.complete(), bytes }
    }

    /// What they need in memory, about, in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the chart has too many words to know which keys it reads: then no value is unknown.
    pub fn has_too_many_words(&self) -> bool {
        self.words.is_none()
    }

    /// The values whose key is not in the defaults beside them and occurs nowhere in the chart: neither in a template, a
    /// schema, nor in a value that is commented out. What is below a map without default keys, such as labels, is free.
    pub fn find_unknown(&self, values: &Value) -> Vec<UnknownValue> {
        let mut found = Vec::new();
        if let (Value::Object(values), Some(words)) = (values, &self.words) {
            collect(words, (&self.defaults, values), "", &mut found);
        }
        found
    }
}

/// Adds the values that are not in the defaults beside them and whose key is no word.
fn collect(
    words: &HashSet<Box<str>>,
    (defaults, values): (&Map<String, Value>, &Map<String, Value>),
    parent: &str,
    found: &mut Vec<UnknownValue>,
) {
    for (key, value) in values {
        if found.len() >= MAX_REPORTED {
            return;
        }
        let path = format!("{parent}/{}", escape_pointer_token(key));
        match (defaults.get(key), value) {
            (Some(Value::Object(defaults)), Value::Object(values)) if !defaults.is_empty() => {
                collect(words, (defaults, values), &path, found);
            }
            (Some(_), _) => {}
            (None, _) if words.contains(key.as_str()) => {}
            (None, _) => {
                let nearest = find_nearest(key, defaults.keys().map(String::as_str)).map(str::to_owned);
                found.push(UnknownValue { path, key: key.clone(), nearest });
            }
        }
    }
}

/// The number of values of default values.
fn count_defaults(defaults: &Map<String, Value>) -> u64 {
    fn count(value: &Value) -> u64 {
        1 + match value {
            Value::Array(items) => items.iter().map(count).sum::<u64>(),
            Value::Object(fields) => fields.values().map(count).sum::<u64>(),
            _ => 0,
        }
    }
    1 + defaults.values().map(count).sum::<u64>()
}

/// The words of a chart, up to [`MAX_WORD_BYTES`].
#[derive(Default)]
struct WordSet {
    words: HashSet<Box<str>>,
    bytes: usize,
    is_too_large: bool,
}

impl WordSet {
    fn add_text(&mut self, text: &str) {
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        for word in text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()) {
            if self.is_too_large {
                return;
            }
            self.add(word);
        }
    }

    fn add(&mut self, word: &str) {
        if self.is_too_large || word.len() > MAX_KEY_BYTES || self.words.contains(word) {
            return;
        }
        let bytes = self.bytes + word.len() + WORD_BYTES;
        if bytes > MAX_WORD_BYTES {
            *self = Self { is_too_large: true, ..Self::default() };
            return;
        }
        self.bytes = bytes;
        self.words.insert(word.into());
    }

    /// The words, unless there are too many.
    fn complete(self) -> Option<HashSet<Box<str>>> {
        (!self.is_too_large).then_some(self.words)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    fn known(files: &[(&str, &str)]) -> KnownValues {
        let metadata = (
            "Chart.yaml",
            "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: db, alias: store}]\n",
        );
        let files: BTreeMap<String, Vec<u8>> = files
            .iter()
            .chain([&metadata])
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()))
            .collect();
        KnownValues::read(&ChartArchive::from_files(files).unwrap())
    }

    #[test]
    fn g114_a_key_that_occurs_nowhere_in_the_chart_is_unknown() {
        let known = known(&[
            ("values.yaml", "replicaCount: 1\nimage: {tag: v1}\nnodeSelector: {}\n# extraArgs: []\n"),
            ("templates/a.yaml", "{{ .Values.hidden }} {{ index .Values \"by-index\" }}"),
            ("values.schema.json", r#"{"properties": {"onlyInSchema": {}}}"#),
        ]);
        let values = json!({
            "replicaCont": 2, "image": {"tagg": "v2"}, "nodeSelector": {"disk-type": "ssd"}, "extraArgs": ["-v"],
            "hidden": 1, "by-index": 1, "onlyInSchema": 1, "store": {"anything": 1},
        });
        let found: Vec<(String, Option<String>)> =
            known.find_unknown(&values).into_iter().map(|one| (one.path, one.nearest)).collect();
        assert_eq!(
            found,
            [
                ("/replicaCont".to_owned(), Some("replicaCount".to_owned())),
                ("/image/tagg".to_owned(), Some("tag".to_owned())),
            ]
        );
    }

    #[test]
    fn p19_the_words_of_a_chart_are_bounded_and_with_too_many_no_key_is_unknown() {
        let words = |count: usize| (0..count).map(|number| format!("w{number:07} ")).collect::<String>();
        let read =
            |count: usize| known(&[("values.yaml", "a: 1\n"), ("templates/a.yaml", words(count).as_str())]);
        let values = json!({"replicaCount": 1});
        let few = read(1_000);
        assert!(!few.has_too_many_words() && few.bytes() > 72_000 && few.bytes() < 80_000, "{}", few.bytes());
        assert_eq!(few.find_unknown(&values).len(), 1);
        let many = read(MAX_WORD_BYTES / 72);
        assert!(many.has_too_many_words() && many.bytes() < 1_000, "{}", many.bytes());
        assert_eq!(many.find_unknown(&values), []);
        // The same word again needs nothing, and one that no key can be neither.
        let long = format!("{} {}", "word ".repeat(1 << 20), "x".repeat(8 << 20));
        let same = known(&[("templates/a.yaml", long.as_str())]);
        assert!(!same.has_too_many_words() && same.bytes() < 1_000, "{}", same.bytes());
    }

    #[test]
    fn p19_default_values_with_too_many_values_are_not_compared() {
        let defaults = |count: usize| format!("a: [{}]\nb: 1\n", vec!["[]"; count].join(","));
        let (few, many) = (defaults(1_000), defaults(MAX_DEFAULTS + 1));
        assert!(known(&[("values.yaml", few.as_str())]).bytes() > 1_000 * VALUE_BYTES);
        assert!(known(&[("values.yaml", many.as_str())]).bytes() < 2_000);
    }
}
