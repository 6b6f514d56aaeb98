//! Tests of the override form: parsing, round trip and findings.

use domain::OverrideId;
use proptest::prelude::*;
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
fn an_override_for_a_selected_group_targets_it_and_gets_its_name() {
    let selected = OverrideForm { group: "edge".into(), ..OverrideForm::blank(&list_fields(&objects())) };
    assert!(selected.is_blank(), "the selection alone is no input");
    let parse = |form: OverrideForm| {
        let read = form.parse().unwrap();
        (read.name, read.target.clusters, read.target.groups)
    };
    assert_eq!(parse(selected.clone()), ("edge".into(), vec![], vec!["edge".into()]));
    let wider = OverrideForm { groups: "gold, edge".into(), clusters: "eu-1".into(), ..selected.clone() };
    assert_eq!(parse(wider), ("edge".into(), vec!["eu-1".into()], vec!["gold".into(), "edge".into()]));
    let named = OverrideForm { name: "small".into(), groups: "gold".into(), ..selected };
    assert_eq!(parse(named), ("small".into(), vec![], vec!["edge".into(), "gold".into()]));
    let typed = OverrideForm { groups: "gold".into(), ..OverrideForm::default() };
    assert_eq!(parse(typed).0, "gold", "the only group that is named");
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

#[test]
fn input_that_is_opened_again_is_entered_in_the_rows_of_the_current_source() {
    let known = list_fields(&objects());
    let mut typed =
        OverrideForm { cluster: "edge-1".into(), priority: "many".into(), ..OverrideForm::blank(&known) };
    typed.fields[0].value = "7".to_owned();
    let former =
        OverrideFieldForm { key: "of another source".into(), value: "1".into(), ..Default::default() };
    typed.fields.insert(0, former);
    let key = typed.fields[1].key.clone();
    let opened = OverrideForm::blank(&known).with_input(typed);
    assert_eq!(opened.fields.len(), known.len());
    assert_eq!((opened.fields[0].key.clone(), opened.fields[0].value.as_str()), (key, "7"));
    assert_eq!((opened.priority.as_str(), opened.cluster.as_str()), ("many", ""));
}

#[test]
fn a_form_with_invalid_fields_has_the_name_under_which_it_would_be_stored() {
    let named = |name: &str, cluster: &str, clusters: &str| {
        let form = OverrideForm {
            name: name.into(),
            cluster: cluster.into(),
            clusters: clusters.into(),
            priority: "many".into(),
            ..OverrideForm::default()
        };
        assert!(form.parse().is_err());
        form.resolved_name()
    };
    assert_eq!(named("", "edge-1", ""), "edge-1");
    assert_eq!(named("", "", "edge-2"), "edge-2");
    assert_eq!(named("europe", "edge-1", ""), "europe");
    assert_eq!(named("", "", "edge-1, edge-2"), "", "it has no name yet");
}

#[test]
fn g506_what_is_typed_and_not_added_to_the_target_is_reported() {
    let typed = OverrideForm { cluster: "eu-1".into(), also: " moon ".into(), ..OverrideForm::default() };
    assert!(!typed.is_blank(), "it is not dropped");
    let findings = typed.parse().unwrap_err();
    assert_eq!(findings[0].path, "/override/also");
    assert!(findings[0].message.contains("\"moon\" is not a part of the target yet"), "{findings:?}");
    assert!(OverrideForm { also: "  ".into(), ..typed }.parse().is_ok());
}

fn any_patch() -> impl Strategy<Value = Patch> {
    let objects = vec![
        web(),
        ObjectSelector { name: String::new(), ..web() },
        ObjectSelector { namespace: "shop".into(), ..web() },
        ObjectSelector { kind: "Service".into(), ..web() },
    ];
    let paths =
        vec!["/spec/replicas", "/spec/template/spec/containers[name=web]/image", "/spec/paused", "/data/a.b"];
    let value = prop_oneof![
        (0..9_i64).prop_map(|n| json!(n)),
        "[a-z0-9 .:-]{0,6}".prop_map(Value::from),
        Just(json!("${{ cluster.labels.size }}")),
        Just(json!(true)),
        Just(Value::Null),
        Just(json!({"a": [1, "b"]})),
    ];
    let op = (0..3, prop::sample::select(paths), value).prop_map(|(op, path, value)| match op {
        0 => PatchOp::Set { path: path.to_owned(), value },
        1 => PatchOp::Remove { path: path.to_owned() },
        _ => PatchOp::Merge { value: json!({ "spec": { "a": value } }) },
    });
    (prop::sample::select(objects), op).prop_map(|(object, op)| Patch { object, op })
}

proptest! {
    #[test]
    fn an_override_of_any_patches_in_any_order_is_parsed_back_from_its_form(
        patches in prop::collection::vec(any_patch(), 0..5),
        priority in 0..=1_000_u32,
        values in prop::sample::select(vec!["", "# size\nreplicas: 2\n"]),
    ) {
        let over = Override { priority, values: values.to_owned(), ..override_with(patches) };
        let form = assert_round_trip(&over);
        prop_assert_eq!(form.parse().unwrap().chart_values, values);
    }
}
