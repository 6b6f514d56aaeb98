//! Laws of the comparison, against a small model of server-side apply.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::path::Path;

fn map(entries: impl IntoIterator<Item = (String, Value)>) -> Value {
    Value::Object(entries.into_iter().collect())
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        (1..4_i64).prop_map(|n| json!(n)),
        prop::sample::select(vec![
            json!("x"),
            json!("1000m"),
            json!(true),
            json!({}),
            json!(null),
            json!([])
        ]),
        prop::collection::vec(1..3_i64, 1..3).prop_map(|items| json!(items)),
    ]
}

fn fields(depth: u32) -> BoxedStrategy<Value> {
    let value = if depth == 0 { leaf().boxed() } else { prop_oneof![leaf(), fields(depth - 1)].boxed() };
    prop::collection::btree_map("[a-d]", value, 0..4).prop_map(map).boxed()
}

fn container(name: usize) -> impl Strategy<Value = Value> {
    let quantity = prop::sample::select(vec!["1", "1000m", "0.5", "500m", "2Gi"]);
    (fields(1), prop::option::of(quantity)).prop_map(move |(mut fields, cpu)| {
        fields["name"] = json!(format!("c-{name}"));
        if let Some(cpu) = cpu {
            fields["resources"] = json!({"limits": {"cpu": cpu}});
        }
        fields
    })
}

fn containers() -> impl Strategy<Value = Value> {
    prop::sample::subsequence(vec![0, 1, 2], 0..=3)
        .prop_flat_map(|names| names.into_iter().map(container).collect::<Vec<_>>())
        .prop_shuffle()
        .prop_map(Value::Array)
}

fn any_object() -> impl Strategy<Value = Value> {
    (fields(2), containers(), prop::collection::btree_map("[a-c]", "[xy]?", 0..3)).prop_map(
        |(spec, containers, labels)| {
            let mut spec = spec;
            spec["containers"] = containers;
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": labels}, "spec": spec})
        },
    )
}

/// Server-side apply in a nutshell: maps are merged, containers by name, other lists replaced, null says nothing.
fn applied(live: &Value, wanted: &Value, field: &str) -> Value {
    match (live, wanted) {
        (live, Value::Null) => live.clone(),
        (Value::Object(live), Value::Object(wanted)) => {
            let mut out = live.clone();
            for (key, value) in wanted {
                let value = applied(live.get(key).unwrap_or(&Value::Null), value, key);
                out.insert(key.clone(), value);
            }
            Value::Object(out)
        }
        (Value::Array(live), Value::Array(wanted)) if field == "containers" => {
            let mut out = live.clone();
            for item in wanted {
                match out.iter().position(|there| there["name"] == item["name"]) {
                    Some(at) => out[at] = applied(&out[at], item, ""),
                    None => out.push(applied(&Value::Null, item, "")),
                }
            }
            Value::Array(out)
        }
        (_, Value::Object(_)) => applied(&Value::Object(Map::new()), wanted, field),
        (_, wanted) => wanted.clone(),
    }
}

/// The object without what is null or empty.
fn bare(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.iter().map(|(key, value)| (key.clone(), bare(value)));
            map(kept.filter(|(_, value)| {
                !matches!(value, Value::Null) && *value != json!({}) && *value != json!([])
            }))
        }
        Value::Array(items) => Value::Array(items.iter().map(bare).collect()),
        other => other.clone(),
    }
}

/// The object with fields that nobody wants, and items of others.
fn with_strangers(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let known = fields.iter().map(|(key, value)| (key.clone(), with_strangers(value)));
            map(known.chain([("stranger".to_owned(), json!({"deep": 1}))]))
        }
        Value::Array(items) if items.iter().any(|item| item.get("name").is_some()) => {
            let strange = json!({"name": "stranger"});
            Value::Array([strange].into_iter().chain(items.iter().map(with_strangers)).collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn nothing_differs_from_itself(object in any_object()) {
        prop_assert_eq!(diff(&object, &object), vec![]);
        prop_assert_eq!(removed_since(&object, &object, &object), vec![]);
    }

    #[test]
    fn nothing_is_left_to_do_after_applying(wanted in any_object(), live in any_object()) {
        prop_assert_eq!(diff(&wanted, &applied(&live, &wanted, "")), vec![]);
    }

    #[test]
    fn where_nothing_is_told_applying_changes_nothing(wanted in any_object(), live in any_object()) {
        // Quantities are compared by amount; the model knows only texts.
        let text = |object: &Value| object.to_string().replace("1000m", "1").replace("0.5", "500m");
        if diff(&wanted, &live).is_empty() {
            prop_assert_eq!(
                bare(&serde_json::from_str(&text(&applied(&live, &wanted, ""))).unwrap()),
                bare(&serde_json::from_str(&text(&live)).unwrap())
            );
        }
    }

    #[test]
    fn what_others_add_is_no_difference(wanted in any_object()) {
        prop_assert_eq!(diff(&wanted, &with_strangers(&wanted)), vec![]);
    }

    #[test]
    fn every_change_tells_what_stands_at_its_path(wanted in any_object(), live in any_object()) {
        for change in diff(&wanted, &live) {
            let path: Path = change.path.parse().unwrap();
            prop_assert_eq!(path.get(&wanted), change.wanted.as_ref(), "{}", path);
            let there = path.get(&live).filter(|value| !value.is_null());
            prop_assert_eq!(there, change.live.as_ref(), "{}", path);
        }
    }

    #[test]
    fn what_is_removed_was_set_before_is_not_wanted_and_is_there(
        previous in any_object(), wanted in any_object(), others in any_object(),
    ) {
        let live = applied(&others, &previous, "");
        for change in removed_since(&previous, &wanted, &live) {
            let path: Path = change.path.parse().unwrap();
            prop_assert!(path.get(&previous).is_some(), "{}", path);
            prop_assert!(path.get(&wanted).is_none_or(Value::is_null), "{}", path);
            prop_assert_eq!(path.get(&live), change.live.as_ref(), "{}", path);
            prop_assert_eq!(&change.wanted, &None);
        }
    }

    #[test]
    fn a_field_nobody_else_has_is_gone_from_the_list_once_it_is_removed(previous in any_object()) {
        let empty = json!({"apiVersion": "v1", "kind": "Pod"});
        let live = bare(&previous);
        let gone = removed_since(&previous, &empty, &live);
        for field in ["metadata", "spec"] {
            let told = gone.iter().any(|change| change.path.starts_with(&format!("/{field}")));
            prop_assert_eq!(told, live.get(field).is_some(), "{:?}", gone);
        }
    }
}
