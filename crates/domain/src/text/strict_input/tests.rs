//! What is rejected with which message, and how input that was made to be expensive is bounded.

use std::collections::BTreeMap;

use serde_json::json;

use super::*;
use crate::model::overrides::Patch;
use crate::model::placement::{ClusterGroup, Placement};
use crate::model::workload::WorkloadSpec;

fn read<T: DeserializeOwned>(value: &Value) -> Result<T, String> {
    parse(value).map_err(|error| error.to_string())
}

#[test]
fn a_misspelt_field_is_rejected_with_its_path_and_the_nearest_name() {
    let message = |predicate: Value| read::<Placement>(&json!({ "predicates": [predicate] })).unwrap_err();
    assert_eq!(
        message(json!({"labelselector": "env=prod"})),
        r#"/predicates/0: unknown field "labelselector", did you mean "labelSelector"?"#
    );
    assert_eq!(
        message(json!({"selector": "env=prod"})),
        r#"/predicates/0: unknown field "selector", the fields are names, groups, labelSelector, fieldSelector"#
    );
    assert_eq!(
        message(json!({"name": "eu-1"})),
        r#"/predicates/0: unknown field "name", did you mean "names"?"#
    );
    let group = read::<ClusterGroup>(&json!({"name": "eu", "selektor": "region=eu"})).unwrap_err();
    assert_eq!(group, r#"unknown field "selektor", did you mean "selector"?"#);
}

#[test]
fn fields_inside_of_policies_patches_and_sources_are_checked_too() {
    let spec = json!({
        "namespace": "web",
        "source": {"type": "yaml", "files": [{"name": "a.yaml", "text": "", "txt": ""}], "file": 1},
        "policies": {"deletoin": "orphan", "update": [{"object": {"kin": "Job"}, "strategy": "createOnly"}]},
        "overrides": [{"id": "01J00000000000000000000000", "name": "eu", "patches": [
            {"object": {"kin": "Deployment"}, "op": "set", "path": "/spec/replicas", "value": 2, "vlaue": 3}
        ]}],
    });
    let invalid = parse::<WorkloadSpec>(&spec).unwrap_err();
    let paths: Vec<&str> = invalid.fields.iter().map(|field| field.path.as_str()).collect();
    let expected = [
        "/source",
        "/source/files/0",
        "/overrides/0/patches/0",
        "/overrides/0/patches/0/object",
        "/policies",
        "/policies/update/0/object",
    ];
    assert!(paths.iter().all(|path| expected.contains(path)), "{invalid:?}");
    assert_eq!(paths.len() + invalid.more, expected.len(), "{invalid:?}");
}

#[test]
fn a_wrong_type_is_reported_at_its_path_and_values_are_free_of_fields() {
    assert_eq!(
        read::<Placement>(&json!({"predicates": [{"names": "eu-1"}]})).unwrap_err(),
        r#"/predicates/0/names: invalid type: string "eu-1", expected a sequence"#
    );
    assert!(read::<Placement>(&json!(["eu-1"])).unwrap_err().contains("invalid type"));
    let patch = json!({"op": "merge", "value": {"any": {"field": [1, null]}}});
    assert_eq!(serde_json::to_value(read::<Patch>(&patch).unwrap()).unwrap()["value"], patch["value"]);
}

#[test]
fn a_stored_value_of_a_later_version_is_readable() {
    let stored = json!({"predicates": [{"names": ["eu-1"], "later": true}], "later": {}});
    assert_eq!(serde_json::from_value::<Placement>(stored).unwrap().predicates[0].names, ["eu-1"]);
}

#[test]
fn a_field_that_is_set_twice_is_rejected() {
    let read = |text: &str| serde_json::from_str::<UniqueKeysValue>(text);
    let twice = read(r#"{"a": [{"b": 1, "b": 2}]}"#).unwrap_err().to_string();
    assert!(twice.starts_with(r#"the field "b" is set twice at line 1"#), "{twice}");
    let text = r#"{"a":[null,true,-1,2,0.5,"x",{}]}"#;
    assert_eq!(read(text).unwrap().0.to_string(), text);
}

#[test]
fn p19_of_many_unknown_fields_a_few_are_listed_and_the_rest_is_counted() {
    let fields: Map<String, Value> = (0..100_000).map(|n| (format!("x{n:06}"), Value::Null)).collect();
    let invalid = parse::<Placement>(&Value::Object(fields)).unwrap_err();
    assert_eq!((invalid.fields.len(), invalid.more), (MAX_LISTED, 100_000 - MAX_LISTED));
    assert!(invalid.to_string().ends_with("; and 99995 more"), "{invalid}");
}

#[test]
fn p19_the_path_of_an_error_is_cut_below_a_long_key() {
    let key = "k".repeat(1 << 20);
    let read = |value: &Value| {
        let unknown = RefCell::new(UnknownFields::default());
        let reader = FieldReader { value, path: &ValuePath::Root, unknown: &unknown };
        let failed = BTreeMap::<String, Placement>::deserialize(reader).err();
        (unknown.into_inner(), failed)
    };
    let (unknown, failed) = read(&json!({ (key.as_str()): {"x": 1} }));
    assert!(failed.is_none() && unknown.listed.len() == 1, "{}", unknown.listed.len());
    let wrong = read(&json!({ (key.as_str()): 1 })).1.unwrap();
    for path in [&*unknown.listed[0].path, wrong.path.as_deref().unwrap_or_default()] {
        assert!(path.starts_with("/kkk") && path.ends_with('…'), "{} bytes", path.len());
        assert_eq!(path.chars().count(), MAX_PATH_CHARS + 1);
    }
}

#[test]
fn p19_an_input_of_too_many_values_is_refused_while_it_is_parsed() {
    // The list is a value too.
    let list = |items: usize| format!("[{}0]", "0,".repeat(items - 1));
    assert!(serde_json::from_str::<UniqueKeysValue>(&list(MAX_VALUES - 1)).is_ok());
    let refused = serde_json::from_str::<UniqueKeysValue>(&list(MAX_VALUES)).unwrap_err().to_string();
    assert!(refused.starts_with("it has more than 500000 values; send less"), "{refused}");
    let nested = format!("{{\"a\":[{}[]]}}", "{},".repeat(MAX_VALUES));
    assert!(serde_json::from_str::<UniqueKeysValue>(&nested).is_err());
}
