//! What the texts of a chart use that Helm evaluates, to find the inputs that its output depends on.

use std::collections::BTreeSet;

use super::json_texts::{JsonText, visit_texts};
use super::{ChartArchive, metadata};

/// The function that evaluates any text as a template: a value, or a file of the chart.
const TPL: &str = "tpl";

/// Functions of Helm's templates whose results differ between runs.
const RANDOM_FUNCTIONS: [&str; 21] = [
    "ago",
    "bcrypt",
    "encryptAES",
    "genCA",
    "genCAWithKey",
    "genPrivateKey",
    "genSelfSignedCert",
    "genSelfSignedCertWithKey",
    "genSignedCert",
    "genSignedCertWithKey",
    "htpasswd",
    "now",
    "randAlpha",
    "randAlphaNum",
    "randAscii",
    "randBytes",
    "randInt",
    "randNumeric",
    "shuffle",
    "unixEpoch",
    "uuidv4",
];

/// Most addresses of schemas that are listed, and most characters of one of them. A message names three.
const MAX_REMOTE_REFS: usize = 100;
const MAX_REMOTE_REF_CHARS: usize = 500;

impl ChartArchive {
    /// Whether any text that Helm may evaluate contains `needle`: templates and values of the chart and its subcharts, and all
    /// their texts if one of them is evaluated by `tpl`.
    pub fn contains_text(&self, needle: &str) -> bool {
        self.searched_texts().any(|(_, text)| text.contains(needle))
    }

    /// The paths of the templates and default values that contain `needle`, those of subcharts included.
    pub fn files_with_text(&self, needle: &str) -> Vec<String> {
        let found = self.evaluated_texts().filter(|(_, text)| text.contains(needle));
        found.map(|(path, _)| path.to_owned()).collect()
    }

    /// The paths of the templates that call this function in an expression, those of subcharts included.
    pub fn templates_with_function(&self, name: &str) -> Vec<String> {
        let is_template = |path: &str| path.split('/').any(|part| part == "templates");
        let found = self.texts().filter(|(path, text)| is_template(path) && contains_word(text, name));
        found.map(|(path, _)| path.to_owned()).collect()
    }

    /// Whether the output may differ between two runs with equal inputs: a function that is random or reads the clock is used,
    /// in the chart or in a text of `values`, which are JSON, if the chart may evaluate it.
    pub fn may_be_random(&self, values: &str) -> bool {
        if self.searched_texts().any(|(_, text)| uses_random_function(text)) {
            return true;
        }
        self.uses_tpl && has_random_function(values)
    }

    /// Addresses that values schemas refer to; they are not fetched. The first hundred of them, cut. A schema that is no JSON has none: Helm
    /// reports it.
    pub fn remote_schema_refs(&self) -> Vec<String> {
        let mut found = BTreeSet::new();
        for text in self.values_schemas() {
            let mut of_schema = BTreeSet::new();
            let read = visit_texts(text, &mut |field| {
                if let JsonText::Value { key, text } = field
                    && of_schema.len() < MAX_REMOTE_REFS
                    && metadata::is_remote_ref(key, text)
                {
                    of_schema.insert(text.chars().take(MAX_REMOTE_REF_CHARS).collect::<String>());
                }
            });
            if read.is_ok() {
                found.extend(of_schema.into_iter().take(MAX_REMOTE_REFS.saturating_sub(found.len())));
            }
        }
        found.into_iter().collect()
    }

    /// The texts of all values schemas, those of subcharts included.
    pub(crate) fn values_schemas(&self) -> impl Iterator<Item = &str> {
        let is_schema = |path: &str| path.rsplit('/').next() == Some("values.schema.json");
        self.texts().filter(move |(path, _)| is_schema(path)).map(|(_, text)| text)
    }

    /// The keys below which the values of subcharts are.
    pub(crate) fn subchart_names(&self) -> impl Iterator<Item = &str> {
        let named = self.metadata.dependencies.iter().map(|one| one.values_key.as_str());
        let folders = self.files.keys().filter_map(|path| path.strip_prefix("charts/")?.split('/').next());
        let packed = self.subcharts.names.iter().map(String::as_str);
        named.chain(folders).chain(packed).chain(["global"])
    }

    /// The texts that Helm evaluates by their path: templates and default values of the chart and its subcharts.
    pub(crate) fn evaluated_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| is_evaluated(path))
    }

    /// Whether a template of the chart or a subchart evaluates other texts as templates.
    pub(super) fn detect_tpl(&self) -> bool {
        self.evaluated_texts().any(|(_, text)| contains_word(text, TPL))
    }

    /// The texts that Helm may evaluate: with `tpl`, a template may evaluate any file of the chart.
    fn searched_texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| self.uses_tpl || is_evaluated(path))
    }

    /// The files that are text by their path, and those in packed subcharts.
    fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        let files = self.files.iter();
        let files = files.filter_map(|(path, bytes)| Some((path.as_str(), std::str::from_utf8(bytes).ok()?)));
        let packed = self.subcharts.texts.iter().map(|(path, text)| (path.as_str(), text.as_str()));
        files.chain(packed)
    }
}

/// Whether a file is a template or has default values.
fn is_evaluated(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    path.split('/').any(|part| part == "templates") || name == "values.yaml"
}

/// Whether a key or a text of values, which are JSON, uses a random function; of a text that is no JSON, the text itself.
fn has_random_function(values: &str) -> bool {
    let mut is_found = false;
    let read = visit_texts(values, &mut |field| {
        let (JsonText::Key(text) | JsonText::Value { text, .. }) = field;
        is_found |= uses_random_function(text);
    });
    if read.is_ok() { is_found } else { uses_random_function(values) }
}

fn uses_random_function(text: &str) -> bool {
    RANDOM_FUNCTIONS.iter().any(|name| contains_word(text, name))
}

/// Whether `word` occurs inside an expression, with no letter, digit or `_` on either side.
fn contains_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    // Up to the last "}}" before the next "{{": the first one may be in a text of the expression, `tpl (printf "{{ %s }}" .a) .`.
    let expressions = text
        .split("{{")
        .skip(1)
        .map(|rest| rest.rsplit_once("}}").map_or(rest, |(expression, _)| expression));
    let mut found = expressions.flat_map(|expression| {
        expression.match_indices(word).map(move |(at, _)| (&expression[..at], &expression[at + word.len()..]))
    });
    found.any(|(before, after)| !before.ends_with(is_part) && !after.starts_with(is_part))
}
