//! Properties that hold for every text.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::kubernetes::field_path::PathSegment;

/// Includes scalars that are ambiguous in YAML.
fn any_scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_000_i64..100_000).prop_map(Value::from),
        "[a-z][a-z0-9./:-]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "yes",
            "no",
            "~",
            "null",
            "1_000",
            "0644",
            "1e3",
            "0x1f",
            ".5",
            "- a",
            "a: b",
            "a #b",
            "#a",
            " a",
            "a ",
            "{a}",
            "[",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a",
            "'",
            "\"",
            "a\nb\n",
            "a\nb",
            "\n",
            "",
            "---",
            "...",
            "ä\u{1f600}",
            "\t",
            "a\n  b\n\nc\n",
            "<<",
            "=",
            "?",
            "-",
        ])
        .prop_map(Value::from),
    ]
}

fn any_value() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["name", "spec", "ports", "a/b", "x y", "on", "1", "a.conf"]);
    any_scalar().prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}

/// A map in varied notation: block or flow inside, comments, lists indented or not.
fn any_document() -> impl Strategy<Value = (String, Value)> {
    let fields = prop::collection::vec(
        (prop::sample::select(vec!["a", "b", "c", "spec"]), any_value(), 0_u8..4),
        1..4,
    );
    (fields, any::<bool>()).prop_map(|(fields, lists_indented)| {
        let style = style::Style { lists_indented, ..style::Style::plain("\n") };
        let (mut text, mut value) = (String::new(), json!({}));
        for (key, inner, notation) in fields {
            if value.get(key).is_some() {
                continue;
            }
            let entry = match notation {
                0 => write::format_flow_entry(key, &inner, false),
                1 => write::format_flow_entry(key, &inner, true),
                _ => write::YamlWriter::new(style).format_entry(key, &inner, 0),
            };
            if notation == 3 {
                text.push_str("# of the next one\n");
            }
            text.push_str(&entry);
            text.push('\n');
            value[key] = inner;
        }
        (text, value)
    })
}

/// Every path in a value, in the order written.
fn collect_paths(value: &Value, here: &FieldPath, all: &mut Vec<FieldPath>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in inner {
        let path = here.with_key(&key);
        all.push(path.clone());
        collect_paths(value, &path, all);
    }
}

fn pick_path(value: &Value, pick: prop::sample::Index) -> FieldPath {
    let mut all = Vec::new();
    collect_paths(value, &FieldPath::default(), &mut all);
    pick.get(&all).clone()
}

/// Whether `new` has every line of `old`, in order, outside of one range of at most `stretch` lines.
fn changes_one_range(old: &str, new: &str, stretch: usize) -> bool {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    old.len() - head - tail <= stretch
}

proptest! {
    #[test]
    fn written_text_parses_to_its_value((text, value) in any_document()) {
        prop_assert_eq!(parse_documents(&text), vec![Some(value)], "{}", text);
    }

    #[test]
    fn a_set_value_is_read_back_and_all_else_is_unchanged(
        (text, value) in any_document(), pick in any::<prop::sample::Index>(), new in any_scalar()
    ) {
        let path = pick_path(&value, pick);
        let done = set(&text, 0, &path, &new);
        prop_assert!(done.is_ok(), "{path} = {new} in\n{text}");
        let done = done.unwrap();
        let lines = path.get(&value).map_or(0, |old| old.to_string().len()) + 1;
        prop_assert!(changes_one_range(&text, &done, lines), "{path} = {new}: \n{text}\n->\n{done}");
        let mut expected = value.clone();
        apply::set(&mut expected, &apply::resolve_path(&value, &path).unwrap(), &new).unwrap();
        prop_assert_eq!(parse_documents(&done), vec![Some(expected)]);
    }

    #[test]
    fn setting_the_existing_value_changes_nothing((text, value) in any_document(), pick in any::<prop::sample::Index>()) {
        let path = pick_path(&value, pick);
        let existing = path.get(&value).unwrap();
        prop_assert_eq!(set(&text, 0, &path, existing), Ok(text));
    }

    #[test]
    fn adding_and_removing_a_value_restores_the_text(
        (text, value) in any_document(), pick in any::<prop::sample::Index>(), new in any_value()
    ) {
        let path = pick_path(&value, pick);
        let inside = match path.get(&value).unwrap() {
            Value::Object(map) if !map.is_empty() => path.with_key("fresh"),
            Value::Array(items) if !items.is_empty() => path.with_key("-"),
            _ => FieldPath::default().with_key("fresh"),
        };
        let put = set(&text, 0, &inside, &new);
        prop_assert!(put.is_ok(), "{inside} = {new} in\n{text}");
        let back = match inside.0.last() {
            Some(PathSegment::Key(key)) if key == "-" => {
                path.with_key(&path.get(&value).unwrap().as_array().unwrap().len().to_string())
            }
            _ => inside,
        };
        prop_assert_eq!(remove(&put.unwrap(), 0, &back), Ok(text));
    }

    #[test]
    fn editing_never_panics(text in "[a-c:{}\\[\\]#&*!|>'\"\\-? \n\t\r,ä~%@<=.0]{0,60}", new in any_scalar()) {
        for at in ["/a", "/a/b", "/a/0", "/a/-", "/b/-/c", ""] {
            let at: FieldPath = at.parse().unwrap();
            let _ = set(&text, 0, &at, &new);
            let _ = remove(&text, 0, &at);
        }
        let _ = remove_document(&text, 0);
    }
}
