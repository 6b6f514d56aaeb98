//! Tests of the override form: parsing, round trip and findings.

use domain::OverrideId;
use serde_json::json;

use super::*;
use crate::workloads::overrides::overridable::list_fields;

fn objects() -> Vec<Value> {
    vec![
        json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2, "template": {"spec": {
        "containers": [{"name": "web", "image": "a:1"}]}}}}),
    ]
}

fn web() -> ObjectSelector {
    ObjectSelector { kind: "Deployment".into(), name: "web".into(), namespace: String::new() }
}

fn set_patch(path: &str, value: Value) -> Patch {
    Patch { object: web(), op: PatchOp::Set { path: path.into(), value } }
}

fn override_with(patches: Vec<Patch>) -> Override {
    let target = ClusterSelector {
        groups: vec!["eu".into()],
        selector: "env=prod".parse().ok(),
        field_selector: "provider=aws,distribution in (eks,k3s)".parse().unwrap(),
        ..ClusterSelector::default()
    };
    Override {
        id: OverrideId::from_parts(1, 1),
        name: "eu".into(),
        target,
        priority: 600,
        values: String::new(),
        patches,
    }
}

fn assert_round_trip(over: &Override) -> OverrideForm {
    let form = OverrideForm::from_override(over, &list_fields(&objects()));
    let read = form.parse().unwrap();
    assert_eq!(read.patches, over.patches);
    assert_eq!((&read.name, &read.target, read.priority), (&over.name, &over.target, over.priority));
    form
}

#[test]
fn values_fields_and_patches_round_trip() {
    let merge =
        Patch { object: web(), op: PatchOp::Merge { value: json!({"metadata": {"labels": {"a": "b"}}}) } };
    let remove = Patch { object: web(), op: PatchOp::Remove { path: "/spec/paused".into() } };
    let image = "/spec/template/spec/containers[name=web]/image";
    let form = assert_round_trip(&override_with(vec![
        merge,
        set_patch("/spec/replicas", json!(5)),
        set_patch(image, json!("a:2")),
        remove,
    ]));
    let typed: Vec<&str> =
        form.fields.iter().map(|row| row.value.as_str()).filter(|value| !value.is_empty()).collect();
    assert_eq!(typed, ["5", "a:2"]);
    assert!(form.values.starts_with("Deployment/web:"));
    assert!(form.patches.contains("/spec/paused"));
}

#[test]
fn an_order_that_the_form_cannot_represent_is_shown_as_patches() {
    let late = Patch { object: web(), op: PatchOp::Merge { value: json!({"spec": {"replicas": 9}}) } };
    let form = assert_round_trip(&override_with(vec![set_patch("/spec/replicas", json!(5)), late]));
    assert!(form.fields.iter().all(|row| row.value.is_empty()));
    assert!(form.patches.contains("merge"));
}

#[test]
fn a_patch_for_all_of_a_kind_keeps_its_selector_and_fills_its_field() {
    let object = ObjectSelector { kind: "Deployment".into(), ..ObjectSelector::default() };
    let patch = Patch { object, op: PatchOp::Set { path: "/spec/replicas".into(), value: json!(5) } };
    let form = assert_round_trip(&override_with(vec![patch]));
    assert_eq!(form.fields[0].value, "5");
}

#[test]
fn strings_and_numbers_keep_their_types() {
    let image = "/spec/template/spec/containers[name=web]/image";
    assert_round_trip(&override_with(vec![
        set_patch("/spec/replicas", json!("${{ cluster.labels.size }}")),
        set_patch(image, json!("1.5")),
    ]));
    assert_round_trip(&override_with(vec![set_patch("/spec/replicas", json!(3))]));
}

#[test]
fn an_override_for_one_cluster_gets_its_name_and_blank_fields_set_nothing() {
    let mut form = OverrideForm::blank(&list_fields(&objects()));
    assert!(form.is_blank());
    form.clusters = "eu-1".into();
    form.fields[0].value = "3".into();
    let content = form.parse().unwrap();
    assert_eq!(
        (content.name.as_str(), &content.patches[..]),
        ("eu-1", &[set_patch("/spec/replicas", json!(3))][..])
    );
    assert!(!form.is_blank());
}

#[test]
fn g507_an_invalid_field_has_a_finding() {
    let mut form = OverrideForm::blank(&list_fields(&objects()));
    form.fields[0].value = "many".into();
    form.priority = "high".into();
    form.selector = "a b".into();
    form.facts = "cloud=aws".into();
    form.values = "- 1".into();
    form.patches = "{}".into();
    let paths: Vec<String> = form.parse().unwrap_err().into_iter().map(|finding| finding.path).collect();
    let replicas = "/override/fields/Deployment||web|/spec/replicas";
    assert_eq!(
        paths,
        [
            "/override/selector",
            "/override/facts",
            "/override/priority",
            "/override/values",
            replicas,
            "/override/patches",
        ]
    );
}

#[test]
fn every_cluster_is_targeted_only_if_ticked() {
    let form = OverrideForm { everywhere: "yes".into(), ..OverrideForm::default() };
    assert_eq!(form.parse().unwrap().target.selector, Some(domain::labels::LabelSelector::default()));
    let form = OverrideForm { selector: " ".into(), ..OverrideForm::default() };
    assert_eq!(form.parse().unwrap().target, ClusterSelector::default());
}
