//! What holds for every text.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::path::Segment;

/// Scalars that YAML likes to misread are among them.
fn scalar() -> impl Strategy<Value = Value> {
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

fn tree() -> impl Strategy<Value = Value> {
    let key = prop::sample::select(vec!["name", "spec", "ports", "a/b", "x y", "on", "1", "a.conf"]);
    scalar().prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..4).prop_map(|fields| fields
                .into_iter()
                .map(|(key, value)| (key.to_owned(), value))
                .collect::<Value>()),
        ]
    })
}

/// A map as somebody could have written it: block or flow inside, comments, lists under or beside their key.
fn written() -> impl Strategy<Value = (String, Value)> {
    let fields =
        prop::collection::vec((prop::sample::select(vec!["a", "b", "c", "spec"]), tree(), 0_u8..4), 1..4);
    (fields, any::<bool>()).prop_map(|(fields, lists_indented)| {
        let style = style::Style { lists_indented, ..style::Style::plain("\n") };
        let (mut text, mut value) = (String::new(), json!({}));
        for (key, inner, notation) in fields {
            if value.get(key).is_some() {
                continue;
            }
            let entry = match notation {
                0 => write::flow_entry(key, &inner, false),
                1 => write::flow_entry(key, &inner, true),
                _ => write::Writer::new(style).entry(key, &inner, 0),
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
fn paths(value: &Value, here: &Path, all: &mut Vec<Path>) {
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (key, value) in inner {
        let path = here.key(&key);
        all.push(path.clone());
        paths(value, &path, all);
    }
}

fn some_path(value: &Value, pick: prop::sample::Index) -> Path {
    let mut all = Vec::new();
    paths(value, &Path::default(), &mut all);
    pick.get(&all).clone()
}

/// Whether every line of `old` outside of one stretch stands in `new`, in order: what a single change may do.
fn one_stretch(old: &str, new: &str, stretch: usize) -> bool {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(a, b)| a == b).count();
    old.len() - head - tail <= stretch
}

proptest! {
    #[test]
    fn whatever_is_written_reads_back((text, value) in written()) {
        prop_assert_eq!(documents(&text), vec![Some(value)], "{}", text);
    }

    #[test]
    fn what_is_set_reads_back_and_all_else_is_as_it_was(
        (text, value) in written(), pick in any::<prop::sample::Index>(), new in scalar()
    ) {
        let path = some_path(&value, pick);
        let done = set(&text, 0, &path, &new);
        prop_assert!(done.is_ok(), "{path} = {new} in\n{text}");
        let done = done.unwrap();
        let lines = path.get(&value).map_or(0, |old| old.to_string().len()) + 1;
        prop_assert!(one_stretch(&text, &done, lines), "{path} = {new}: \n{text}\n->\n{done}");
        let mut expected = value.clone();
        apply::set(&mut expected, &apply::steps(&value, &path).unwrap(), &new).unwrap();
        prop_assert_eq!(documents(&done), vec![Some(expected)]);
    }

    #[test]
    fn what_is_there_already_is_no_change((text, value) in written(), pick in any::<prop::sample::Index>()) {
        let path = some_path(&value, pick);
        let there = path.get(&value).unwrap();
        prop_assert_eq!(set(&text, 0, &path, there), Ok(text));
    }

    #[test]
    fn what_is_put_in_and_taken_out_leaves_no_trace(
        (text, value) in written(), pick in any::<prop::sample::Index>(), new in tree()
    ) {
        let path = some_path(&value, pick);
        let inside = match path.get(&value).unwrap() {
            Value::Object(map) if !map.is_empty() => path.key("fresh"),
            Value::Array(items) if !items.is_empty() => path.key("-"),
            _ => Path::default().key("fresh"),
        };
        let put = set(&text, 0, &inside, &new);
        prop_assert!(put.is_ok(), "{inside} = {new} in\n{text}");
        let back = match inside.0.last() {
            Some(Segment::Key(key)) if key == "-" => {
                path.key(&path.get(&value).unwrap().as_array().unwrap().len().to_string())
            }
            _ => inside,
        };
        prop_assert_eq!(remove(&put.unwrap(), 0, &back), Ok(text));
    }

    #[test]
    fn no_text_makes_it_panic(text in "[a-c:{}\\[\\]#&*!|>'\"\\-? \n\t\r,ä~%@<=.0]{0,60}", new in scalar()) {
        for at in ["/a", "/a/b", "/a/0", "/a/-", "/b/-/c", ""] {
            let at: Path = at.parse().unwrap();
            let _ = set(&text, 0, &at, &new);
            let _ = remove(&text, 0, &at);
        }
        let _ = remove_document(&text, 0);
    }
}
