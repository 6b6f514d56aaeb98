//! Property tests of provenance, on random objects and overrides (E-8).

use proptest::prelude::*;
use serde_json::json;

use super::tests::{cluster, override_everywhere, remove, set};
use super::touched_paths::find_leaves;
use super::*;
use crate::kubernetes::field_path::FieldPath;

fn item(name: usize) -> impl Strategy<Value = Value> {
    (0..3_i64, prop::option::of(0..3_i64))
        .prop_map(move |(image, port)| json!({"name": format!("i-{name}"), "image": image, "port": port}))
}

fn any_list() -> impl Strategy<Value = Value> {
    let named = prop::sample::subsequence(vec![0, 1, 2], 0..=3)
        .prop_flat_map(|names| names.into_iter().map(item).collect::<Vec<_>>());
    let plain = prop::collection::vec((0..3_i64).prop_map(|n| json!(n)), 0..3);
    prop_oneof![named, plain].prop_map(Value::Array)
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![(0..3_i64).prop_map(|n| json!(n)), Just(json!({})), any_list()];
    leaf.prop_recursive(2, 12, 3, |inner| {
        prop::collection::btree_map("[a-c]", inner, 0..3)
            .prop_map(|map| Value::Object(map.into_iter().collect()))
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-c]", any_value(), 1..4)
        .prop_map(|map| Value::Object(map.into_iter().collect()))
}

fn any_path() -> impl Strategy<Value = String> {
    let segment = prop::sample::select(vec![
        "/a",
        "/b",
        "/c",
        "[name=i-0]",
        "[name=i-1]",
        "[port=1]",
        "/0",
        "/1",
        "/-",
        "/name",
        "/image",
        "/port",
    ]);
    prop::collection::vec(segment, 1..4).prop_map(|segments| segments.concat())
}

fn any_op() -> impl Strategy<Value = PatchOp> {
    let with_null = any_object().prop_map(|value| {
        // A merge may delete keys.
        let Value::Object(mut map) = value else { return value };
        map.insert("b".into(), Value::Null);
        Value::Object(map)
    });
    prop_oneof![
        any_object().prop_map(|value| PatchOp::Merge { value }),
        with_null.prop_map(|value| PatchOp::Merge { value }),
        (any_path(), any_value()).prop_map(|(path, value)| set(&path, value)),
        (any_path(), item(3)).prop_map(|(path, value)| set(&path, value)),
        any_path().prop_map(|path| remove(&path)),
    ]
}

fn any_overrides() -> impl Strategy<Value = Vec<Override>> {
    let any = (prop::collection::vec(any_op(), 1..4), 0..2_u32, any::<bool>());
    prop::collection::vec(any, 1..4).prop_map(|all| {
        let build = |(n, (ops, priority, by_name)): (usize, (Vec<PatchOp>, u32, bool))| {
            let mut over = Override { priority, ..override_everywhere(&format!("o-{n}"), ops) };
            if by_name {
                over.target = ClusterSelector { clusters: vec!["c".into()], ..ClusterSelector::default() };
            }
            over
        };
        all.into_iter().enumerate().map(build).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn e_8_the_effective_value_of_each_leaf_is_what_the_winning_layer_set(
        base in any_object(), overrides in any_overrides(),
    ) {
        let result = apply_overrides(std::slice::from_ref(&base), &overrides, &cluster("c", &[]), &[], "");
        for leaf in &result.provenance {
            let path: FieldPath = leaf.path.parse().unwrap();
            prop_assert_eq!(path.get(&result.objects[0]), leaf.values[0].as_ref(), "{:?}", leaf);
            prop_assert_eq!(leaf.layers.len(), leaf.values.len());
            prop_assert!(leaf.layers[0] != ProvenanceLayer::Base);
            let of_base = leaf.layers.iter().position(|layer| *layer == ProvenanceLayer::Base);
            prop_assert!(of_base.is_none_or(|at| at == leaf.layers.len() - 1));
            prop_assert_eq!(of_base.is_some(), path.get(&base).is_some());
            if of_base.is_some() {
                prop_assert_eq!(leaf.values.last().unwrap().as_ref(), path.get(&base));
            }
        }
    }

    #[test]
    fn e_8_every_leaf_without_provenance_comes_from_the_source(
        base in any_object(), overrides in any_overrides(),
    ) {
        let result = apply_overrides(std::slice::from_ref(&base), &overrides, &cluster("c", &[]), &[], "");
        let recorded: Vec<FieldPath> = result.provenance.iter().map(|leaf| leaf.path.parse().unwrap()).collect();
        let is_unrecorded = |leaf: &FieldPath| !recorded.iter().any(|path| path.is_prefix_of(leaf) || leaf.is_prefix_of(path));
        for leaf in find_leaves(&result.objects[0], &FieldPath::default()).into_iter().filter(is_unrecorded) {
            prop_assert_eq!(leaf.get(&base), leaf.get(&result.objects[0]), "{}", leaf);
        }
        for leaf in find_leaves(&base, &FieldPath::default()).into_iter().filter(is_unrecorded) {
            prop_assert_eq!(leaf.get(&base), leaf.get(&result.objects[0]), "{} was lost", leaf);
        }
    }

    #[test]
    fn e_8_the_order_in_which_overrides_are_stored_does_not_matter(
        base in any_object(), overrides in any_overrides(), rotation in 0..4_usize,
    ) {
        let cluster = cluster("c", &[]);
        let result = apply_overrides(std::slice::from_ref(&base), &overrides, &cluster, &[], "");
        let mut reordered = overrides.clone();
        reordered.rotate_left(rotation % overrides.len());
        prop_assert_eq!(apply_overrides(&[base], &reordered, &cluster, &[], ""), result);
    }

    #[test]
    fn overrides_for_other_clusters_change_nothing(base in any_object(), overrides in any_overrides()) {
        let mut overrides = overrides;
        for over in &mut overrides {
            over.target = ClusterSelector { clusters: vec!["elsewhere".into()], ..ClusterSelector::default() };
        }
        let result = apply_overrides(std::slice::from_ref(&base), &overrides, &cluster("c", &[]), &[], "");
        prop_assert_eq!(result, OverrideResult { objects: vec![base], ..OverrideResult::default() });
    }
}
