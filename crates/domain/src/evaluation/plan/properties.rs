//! Property tests of the comparison, against a small model of server-side apply.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;
use crate::kubernetes::field_path::FieldPath;

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

/// A model of server-side apply: maps are merged, containers by name, other lists replaced, null is ignored.
fn apply_by_model(live: &Value, desired: &Value, field: &str) -> Value {
    match (live, desired) {
        (live, Value::Null) => live.clone(),
        (Value::Object(live), Value::Object(desired)) => {
            let mut out = live.clone();
            for (key, value) in desired {
                let value = apply_by_model(live.get(key).unwrap_or(&Value::Null), value, key);
                out.insert(key.clone(), value);
            }
            Value::Object(out)
        }
        (Value::Array(live), Value::Array(desired)) if field == "containers" => {
            let mut out = live.clone();
            for item in desired {
                match out.iter().position(|there| there["name"] == item["name"]) {
                    Some(at) => out[at] = apply_by_model(&out[at], item, ""),
                    None => out.push(apply_by_model(&Value::Null, item, "")),
                }
            }
            Value::Array(out)
        }
        (_, Value::Object(_)) => apply_by_model(&Value::Object(Map::new()), desired, field),
        (_, desired) => desired.clone(),
    }
}

/// The object without null and empty values.
fn without_empty_values(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), without_empty_values(value)));
            map(fields.filter(|(_, value)| {
                !matches!(value, Value::Null) && *value != json!({}) && *value != json!([])
            }))
        }
        Value::Array(items) => Value::Array(items.iter().map(without_empty_values).collect()),
        other => other.clone(),
    }
}

/// The object with fields and items of other managers.
fn with_other_managers(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), with_other_managers(value)));
            map(fields.chain([("stranger".to_owned(), json!({"deep": 1}))]))
        }
        Value::Array(items) if items.iter().any(|item| item.get("name").is_some()) => {
            let other = json!({"name": "stranger"});
            Value::Array([other].into_iter().chain(items.iter().map(with_other_managers)).collect())
        }
        other => other.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn an_object_does_not_differ_from_itself(object in any_object()) {
        prop_assert_eq!(diff(&object, &object), vec![]);
        prop_assert_eq!(find_removed_fields(&object, &object, &object), vec![]);
    }

    #[test]
    fn no_difference_is_left_after_applying(desired in any_object(), live in any_object()) {
        prop_assert_eq!(diff(&desired, &apply_by_model(&live, &desired, "")), vec![]);
    }

    #[test]
    fn without_differences_applying_changes_nothing(desired in any_object(), live in any_object()) {
        // Quantities are compared by amount; the model compares only text.
        let text = |object: &Value| object.to_string().replace("1000m", "1").replace("0.5", "500m");
        if diff(&desired, &live).is_empty() {
            prop_assert_eq!(
                without_empty_values(&serde_json::from_str(&text(&apply_by_model(&live, &desired, ""))).unwrap()),
                without_empty_values(&serde_json::from_str(&text(&live)).unwrap())
            );
        }
    }

    #[test]
    fn what_other_managers_add_is_no_difference(desired in any_object()) {
        prop_assert_eq!(diff(&desired, &with_other_managers(&desired)), vec![]);
    }

    #[test]
    fn every_change_has_the_values_at_its_path(desired in any_object(), live in any_object()) {
        for change in diff(&desired, &live) {
            let path: FieldPath = change.path.parse().unwrap();
            prop_assert_eq!(path.get(&desired), change.desired.as_ref(), "{}", path);
            let at_path = path.get(&live).filter(|value| !value.is_null());
            prop_assert_eq!(at_path, change.live.as_ref(), "{}", path);
        }
    }

    #[test]
    fn a_removed_field_was_set_before_is_not_desired_and_is_live(
        previous in any_object(), desired in any_object(), others in any_object(),
    ) {
        let live = apply_by_model(&others, &previous, "");
        for change in find_removed_fields(&previous, &desired, &live) {
            let path: FieldPath = change.path.parse().unwrap();
            prop_assert!(path.get(&previous).is_some(), "{}", path);
            prop_assert!(path.get(&desired).is_none_or(Value::is_null), "{}", path);
            prop_assert_eq!(path.get(&live), change.live.as_ref(), "{}", path);
            prop_assert_eq!(&change.desired, &None);
        }
    }

    #[test]
    fn a_field_without_other_managers_is_returned_as_removed(previous in any_object()) {
        let empty = json!({"apiVersion": "v1", "kind": "Pod"});
        let live = without_empty_values(&previous);
        let removed = find_removed_fields(&previous, &empty, &live);
        for field in ["metadata", "spec"] {
            let is_removed = removed.iter().any(|change| change.path.starts_with(&format!("/{field}")));
            prop_assert_eq!(is_removed, live.get(field).is_some(), "{:?}", removed);
        }
    }
}
