//! The merge of values.

use serde_json::{Map, Value};

/// Merges `over` into `base`: maps are merged, lists and scalars replaced, `null` deletes the key (S1-11).
///
/// This is the JSON merge patch of RFC 7396, which is also how Helm merges values.
pub fn merge(base: &mut Value, over: &Value) {
    let Value::Object(over) = over else {
        base.clone_from(over);
        return;
    };
    if !base.is_object() {
        *base = Value::Object(Map::new());
    }
    let Value::Object(base) = base else { return };
    for (key, value) in over {
        if value.is_null() {
            // Preserves the order of the other keys, so that displayed text is stable.
            base.shift_remove(key);
        } else {
            merge(base.entry(key.as_str()).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn merged(base: &Value, over: &Value) -> Value {
        let mut out = base.clone();
        merge(&mut out, over);
        out
    }

    #[test]
    fn s1_11_maps_are_merged_lists_replaced_and_null_deletes() {
        let base = json!({"a": 1, "m": {"x": 1, "y": 2}, "l": [1, 2], "gone": {"z": 1}});
        let over = json!({"a": 2, "m": {"y": null, "w": {"n": null, "k": 3}}, "l": [3], "gone": null});
        assert_eq!(merged(&base, &over), json!({"a": 2, "m": {"x": 1, "w": {"k": 3}}, "l": [3]}));
    }

    #[test]
    fn a_map_replaces_a_scalar_and_a_scalar_a_map() {
        assert_eq!(merged(&json!({"a": 1}), &json!({"a": {"b": 2}})), json!({"a": {"b": 2}}));
        assert_eq!(merged(&json!({"a": {"b": 2}}), &json!({"a": 1})), json!({"a": 1}));
    }

    #[test]
    fn the_order_of_the_remaining_keys_is_preserved() {
        let out = merged(&json!({"c": 1, "a": 2, "b": 3}), &json!({"c": null, "d": 4}));
        assert_eq!(out.to_string(), r#"{"a":2,"b":3,"d":4}"#);
    }

    fn any_value(with_null: bool) -> impl Strategy<Value = Value> {
        let scalars = if with_null {
            vec![json!(1), json!("x"), json!([]), json!([1, null]), Value::Null]
        } else {
            vec![json!(1), json!("x"), json!([]), json!([1, {"a": 1}])]
        };
        let leaf = prop::sample::select(scalars);
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop::collection::btree_map("[a-c]", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect()))
        })
    }

    fn any_map(with_null: bool) -> impl Strategy<Value = Value> {
        prop::collection::btree_map("[a-c]", any_value(with_null), 0..4)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    }

    /// Maps under upper-case keys and leaves under lower-case keys, so that a key has a map in all values or in none.
    fn typed_map() -> impl Strategy<Value = Value> {
        let leaves =
            || prop::collection::btree_map("[a-c]", prop::sample::select(vec![json!(1), json!([2])]), 0..3);
        let level = move |inner: BoxedStrategy<Value>| {
            (leaves(), prop::collection::btree_map("[A-C]", inner, 0..3))
                .prop_map(|(leaves, maps)| Value::Object(leaves.into_iter().chain(maps).collect()))
                .boxed()
        };
        level(level(Just(json!({})).boxed()))
    }

    proptest! {
        #[test]
        fn e_8_merging_twice_is_merging_once(base in any_map(false), over in any_map(true)) {
            let once = merged(&base, &over);
            prop_assert_eq!(merged(&once, &over), once);
        }

        #[test]
        fn e_8_the_empty_map_changes_nothing(base in any_map(true)) {
            prop_assert_eq!(merged(&base, &json!({})), base);
        }

        #[test]
        fn e_8_null_deletes_every_key(base in any_map(false)) {
            let nulls = base.as_object().unwrap().keys().map(|key| (key.clone(), Value::Null));
            prop_assert_eq!(merged(&base, &Value::Object(nulls.collect())), json!({}));
        }

        #[test]
        fn e_8_merging_maps_is_associative(a in typed_map(), b in typed_map(), c in typed_map()) {
            prop_assert_eq!(merged(&merged(&a, &b), &c), merged(&a, &merged(&b, &c)));
        }
    }
}
