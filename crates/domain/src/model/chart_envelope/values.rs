//! Values of a chart as text: several texts and single values become one, and comments stay where the notation permits it.

use serde_json::{Map, Value};

use crate::kubernetes::field_path::{FieldPath, PathSegment};
use crate::model::chart::check_values;
use crate::model::values::merge_values;
use crate::text::finding::Finding;
use crate::text::manifest::yaml_value;
use crate::text::yaml_edit;

/// Most values that are set one by one in a text, each of which parses it. More are merged, and the text is written again.
const MAX_EDITS: usize = 64;

/// Longest text in which values are set one by one, in bytes.
const MAX_EDITED_BYTES: usize = 64 << 10;

/// Most keys that lead to one value.
const MAX_KEYS: usize = 32;

/// One value: the keys that lead to it.
pub(super) type ValueItem = (Vec<String>, Value);

/// The text, if it is values that a chart can have. `what` begins the sentence of the error.
pub(super) fn check_text(what: &str, text: &str) -> Result<(), Box<Finding>> {
    match check_values(what, text) {
        Some(finding) if finding.is_blocking() => Err(Box::new(finding)),
        _ => Ok(()),
    }
}

/// The text with a line break at its end, so that values can be added behind it.
pub(super) fn with_line_end(text: &str) -> String {
    if text.is_empty() || text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") }
}

/// A map as text; empty for an empty one.
pub(super) fn write_map(value: &Value) -> String {
    if value.as_object().is_some_and(Map::is_empty) { String::new() } else { yaml_value::write(value) }
}

/// The values of `base` with those of `over`, which win. Both were checked.
pub(super) fn merge_texts(base: &str, over: &str) -> String {
    let (values, over_values) = (read_map(base), read_map(over));
    if over_values.is_empty() {
        return base.to_owned();
    }
    if values.is_empty() {
        return over.to_owned();
    }
    // Counted first: every item has a copy of the keys that lead to it.
    if base.len() <= MAX_EDITED_BYTES && count_items(&over_values) <= MAX_EDITS {
        let mut items = Vec::new();
        collect_items(&over_values, &[], &mut items);
        if let Some(edited) = edit_items(base, &items) {
            return edited;
        }
    }
    let mut merged = Value::Object(values);
    merge_values(&mut merged, &Value::Object(over_values));
    yaml_value::write(&merged)
}

/// The text with these values set in their order. The text was checked.
pub(super) fn set_items(text: &str, items: &[ValueItem]) -> String {
    if items.is_empty() {
        return text.to_owned();
    }
    if text.len() <= MAX_EDITED_BYTES
        && items.len() <= MAX_EDITS
        && let Some(edited) = edit_items(text, items)
    {
        return edited;
    }
    let mut values = Value::Object(read_map(text));
    for (keys, value) in items {
        insert(&mut values, keys, value);
    }
    yaml_value::write(&values)
}

/// The keys of Helm's flag `--set`, such as `image.tag`, where `\.` is a dot in a key; `None` for the item of a list, and for more than
/// [`MAX_KEYS`] keys.
pub(super) fn parse_set_key(text: &str) -> Option<Vec<String>> {
    let escaped = text.replace("\\.", "\0");
    let keys: Vec<String> = escaped.split('.').map(|key| key.replace('\0', ".")).collect();
    let is_key = |key: &String| !key.is_empty() && !key.contains(['[', ']', '\\', '=', ',']);
    (keys.len() <= MAX_KEYS && keys.iter().all(is_key)).then_some(keys)
}

/// The value that Helm's flag `--set` reads from a text: true, false, null, a whole number, or else the text.
pub(super) fn parse_set_value(text: &str) -> Value {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if is("true") || is("false") {
        return is("true").into();
    }
    if is("null") {
        return Value::Null;
    }
    // Helm reads "007" as a text.
    if text.starts_with('0') && text != "0" {
        return text.into();
    }
    text.parse::<i64>().map_or_else(|_| text.into(), Value::from)
}

/// Why Helm's flags `--set` and `--set-string` would read something else than the text itself, as a sentence; `None` if they would not.
pub(super) fn find_set_notation(text: &str) -> Option<&'static str> {
    if text.starts_with('{') {
        return Some("It is a list in the notation of Helm: write the list in the values.");
    }
    text.contains('\\').then_some("It has an escape in the notation of Helm: write it in the values.")
}

fn read_map(text: &str) -> Map<String, Value> {
    match yaml_value::read(text) {
        Ok(Some(Value::Object(map))) => map,
        _ => Map::new(),
    }
}

fn count_items(map: &Map<String, Value>) -> usize {
    map.values()
        .map(|value| match value {
            Value::Object(below) if !below.is_empty() => count_items(below),
            _ => 1,
        })
        .sum()
}

/// Every value of a map that is no map itself, and every empty map.
fn collect_items(map: &Map<String, Value>, above: &[String], items: &mut Vec<ValueItem>) {
    for (key, value) in map {
        let keys = [above, std::slice::from_ref(key)].concat();
        match value {
            Value::Object(below) if !below.is_empty() => collect_items(below, &keys, items),
            value => items.push((keys, value.clone())),
        }
    }
}

fn edit_items(text: &str, items: &[ValueItem]) -> Option<String> {
    items.iter().try_fold(text.to_owned(), |text, item| edit_text(&text, item))
}

fn edit_text(text: &str, (keys, value): &ValueItem) -> Option<String> {
    if read_map(text).is_empty() {
        let mut nested = Value::Object(Map::new());
        insert(&mut nested, keys, value);
        return Some(yaml_value::write(&nested));
    }
    let path = FieldPath(keys.iter().cloned().map(PathSegment::Key).collect());
    yaml_edit::set(text, 0, &path, value).ok()
}

/// Sets a value; what is no map on the way to it is replaced by one.
fn insert(values: &mut Value, keys: &[String], value: &Value) {
    let mut at = values;
    for key in keys {
        if !at.is_object() {
            *at = Value::Object(Map::new());
        }
        let Value::Object(map) = at else { return };
        at = map.entry(key.as_str()).or_insert(Value::Null);
    }
    at.clone_from(value);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_of_the_base_stay_when_values_are_merged_into_it() {
        let merged = merge_texts("a: 1 # one\nb:\n  c: 2 # two\n", "b: {c: 3, d: [1]}\n");
        assert!(merged.contains("# one") && merged.contains("# two"), "{merged}");
        assert_eq!(Value::Object(read_map(&merged)), json!({"a": 1, "b": {"c": 3, "d": [1]}}));
        assert_eq!(merge_texts("a: 1 # one\n", "# nothing\n"), "a: 1 # one\n");
        assert_eq!(merge_texts("# nothing\n", "a: 1 # one\n"), "a: 1 # one\n");
    }

    #[test]
    fn many_values_are_merged_without_an_edit_for_each() {
        let over: Map<String, Value> = (0..200).map(|n| (format!("k{n}"), n.into())).collect();
        let merged = read_map(&merge_texts("k0: old # one\nz: 1\n", &write_map(&Value::Object(over))));
        assert_eq!((merged.len(), &merged["k0"], &merged["z"]), (201, &json!(0), &json!(1)));
    }

    #[test]
    fn a_long_text_is_merged_without_an_edit_for_each_value() {
        let long = format!("a: {} # long\n", "x".repeat(MAX_EDITED_BYTES));
        let merged = merge_texts(&long, "b: 1\n");
        assert!(!merged.contains("# long"));
        assert_eq!((read_map(&merged).len(), &read_map(&merged)["b"]), (2, &json!(1)));
        let set = set_items(&long, &[(vec!["b".to_owned()], json!(1))]);
        assert!(!set.contains("# long"));
        assert_eq!((read_map(&set).len(), &read_map(&set)["b"]), (2, &json!(1)));
    }

    #[test]
    fn a_scalar_on_the_way_is_replaced_by_a_map() {
        let set = set_items("a: 1\n", &[(vec!["a".to_owned(), "b".to_owned()], json!("x"))]);
        assert_eq!(Value::Object(read_map(&set)), json!({"a": {"b": "x"}}));
    }

    #[test]
    fn keys_and_values_are_read_as_by_helm() {
        assert_eq!(parse_set_key("a.b\\.c"), Some(vec!["a".to_owned(), "b.c".to_owned()]));
        assert_eq!((parse_set_key("a[0]"), parse_set_key("a..b")), (None, None));
        let read = ["True", "FALSE", "null", "0", "12", "012", "1.5", "x"].map(parse_set_value);
        let expected = json!([true, false, null, 0, 12, "012", "1.5", "x"]);
        assert_eq!(Value::Array(read.into()), expected);
        assert!(find_set_notation("{a,b}").is_some() && find_set_notation("a\\,b").is_some());
        assert_eq!(find_set_notation("a,b"), None);
    }
}
