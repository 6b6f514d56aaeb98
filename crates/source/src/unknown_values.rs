//! Values that a chart does not know (G114): most often a typing error, which Helm ignores.

use std::collections::HashSet;

use domain::field_path::escape_pointer_token;
use domain::nearest::find_nearest;
use serde_json::{Map, Value};

use crate::archive::ChartArchive;

/// Most values that are reported.
const MAX_REPORTED: usize = 20;

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
    /// Every word in its templates, default values and schemas, those of its subcharts included.
    words: HashSet<Box<str>>,
}

impl KnownValues {
    /// Reads what a chart knows.
    pub fn read(chart: &ChartArchive) -> Self {
        let defaults = match domain::manifest::yaml_value::read(chart.default_values()) {
            Ok(Some(Value::Object(map))) => map,
            // Without readable defaults, only words are compared.
            _ => Map::new(),
        };
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let mut words = HashSet::new();
        for text in chart.evaluated_texts().map(|(_, text)| text).chain(chart.values_schemas()) {
            for word in text.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()) {
                if !words.contains(word) {
                    words.insert(word.into());
                }
            }
        }
        words.extend(chart.subchart_names().map(Into::into));
        Self { defaults, words }
    }

    /// The values whose key is not in the defaults beside them and occurs nowhere in the chart: neither in a template, a
    /// schema, nor in a value that is commented out. What is below a map without default keys, such as labels, is free.
    pub fn find_unknown(&self, values: &Value) -> Vec<UnknownValue> {
        let mut found = Vec::new();
        if let Value::Object(values) = values {
            self.collect(&self.defaults, values, "", &mut found);
        }
        found
    }

    fn collect(
        &self,
        defaults: &Map<String, Value>,
        values: &Map<String, Value>,
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
                    self.collect(defaults, values, &path, found);
                }
                (Some(_), _) => {}
                (None, _) if self.words.contains(key.as_str()) => {}
                (None, _) => {
                    let nearest = find_nearest(key, defaults.keys().map(String::as_str)).map(str::to_owned);
                    found.push(UnknownValue { path, key: key.clone(), nearest });
                }
            }
        }
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
}
