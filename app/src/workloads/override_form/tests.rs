//! What the form of an override holds and reads back.

use domain::OverrideId;
use serde_json::json;

use super::super::override_fields::fields;
use super::*;

fn objects() -> Vec<Value> {
    vec![
        json!({"kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2, "template": {"spec": {
        "containers": [{"name": "web", "image": "a:1"}]}}}}),
    ]
}

fn web() -> ObjectSelector {
    ObjectSelector { kind: "Deployment".into(), name: "web".into(), namespace: String::new() }
}

fn set(path: &str, value: Value) -> Patch {
    Patch { object: web(), op: PatchOp::Set { path: path.into(), value } }
}

fn over(patches: Vec<Patch>) -> Override {
    let target = Target { groups: vec!["eu".into()], selector: "env=prod".parse().ok(), ..Target::default() };
    Override { id: OverrideId::from_parts(1, 1), name: "eu".into(), target, priority: 600, patches }
}

fn reads_back(over: &Override) -> OverrideForm {
    let form = OverrideForm::of(over, &fields(&objects()));
    let read = form.content().unwrap();
    assert_eq!(read.patches, over.patches);
    assert_eq!((&read.name, &read.target, read.priority), (&over.name, &over.target, over.priority));
    form
}

#[test]
fn values_fields_and_patches_read_back_as_they_were() {
    let merge =
        Patch { object: web(), op: PatchOp::Merge { value: json!({"metadata": {"labels": {"a": "b"}}}) } };
    let remove = Patch { object: web(), op: PatchOp::Remove { path: "/spec/paused".into() } };
    let image = "/spec/template/spec/containers[name=web]/image";
    let form =
        reads_back(&over(vec![merge, set("/spec/replicas", json!(5)), set(image, json!("a:2")), remove]));
    let typed: Vec<&str> =
        form.fields.iter().map(|row| row.value.as_str()).filter(|value| !value.is_empty()).collect();
    assert_eq!(typed, ["5", "a:2"]);
    assert!(form.values.starts_with("Deployment/web:"));
    assert!(form.patches.contains("/spec/paused"));
}

#[test]
fn an_order_that_the_form_cannot_keep_is_shown_as_patches() {
    let late = Patch { object: web(), op: PatchOp::Merge { value: json!({"spec": {"replicas": 9}}) } };
    let form = reads_back(&over(vec![set("/spec/replicas", json!(5)), late]));
    assert!(form.fields.iter().all(|row| row.value.is_empty()));
    assert!(form.patches.contains("merge"));
}

#[test]
fn a_patch_for_all_of_a_kind_stays_one_and_still_stands_at_its_field() {
    let object = ObjectSelector { kind: "Deployment".into(), ..ObjectSelector::default() };
    let patch = Patch { object, op: PatchOp::Set { path: "/spec/replicas".into(), value: json!(5) } };
    let form = reads_back(&over(vec![patch]));
    assert_eq!(form.fields[0].value, "5");
}

#[test]
fn a_text_stays_a_text_and_a_number_a_number() {
    let image = "/spec/template/spec/containers[name=web]/image";
    reads_back(&over(vec![
        set("/spec/replicas", json!("${{ cluster.labels.size }}")),
        set(image, json!("1.5")),
    ]));
    reads_back(&over(vec![set("/spec/replicas", json!(3))]));
}

#[test]
fn an_override_for_one_cluster_is_called_like_it_and_nothing_typed_is_nothing() {
    let mut form = OverrideForm::blank(&fields(&objects()));
    assert!(form.is_blank());
    form.clusters = "eu-1".into();
    form.fields[0].value = "3".into();
    let content = form.content().unwrap();
    assert_eq!(
        (content.name.as_str(), &content.patches[..]),
        ("eu-1", &[set("/spec/replicas", json!(3))][..])
    );
    assert!(!form.is_blank());
}

#[test]
fn g507_what_cannot_be_read_is_told_at_its_field() {
    let mut form = OverrideForm::blank(&fields(&objects()));
    form.fields[0].value = "many".into();
    form.priority = "high".into();
    form.selector = "a b".into();
    form.values = "- 1".into();
    form.patches = "{}".into();
    let paths: Vec<String> = form.content().unwrap_err().into_iter().map(|finding| finding.path).collect();
    let replicas = "/override/fields/Deployment||web|/spec/replicas";
    assert_eq!(
        paths,
        ["/override/selector", "/override/priority", "/override/values", replicas, "/override/patches"]
    );
}

#[test]
fn every_cluster_is_said_and_not_an_accident() {
    let form = OverrideForm { everywhere: "yes".into(), ..OverrideForm::default() };
    assert_eq!(form.content().unwrap().target.selector, Some(domain::labels::Selector::default()));
    let form = OverrideForm { selector: " ".into(), ..OverrideForm::default() };
    assert_eq!(form.content().unwrap().target, Target::default());
}
