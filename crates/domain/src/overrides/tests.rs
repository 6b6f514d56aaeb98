//! Overrides by example.

use serde_json::json;

use super::*;
use crate::cluster::{Cluster, ClusterKind, Reach};
use crate::finding::{Finding, Severity};
use crate::id::ClusterId;
use crate::placement::ClusterGroup;
use crate::time::Timestamp;

pub(super) fn cluster(name: &str, labels: &[(&str, &str)]) -> Cluster {
    let random = name.bytes().fold(7_u128, |sum, byte| (sum * 257 + u128::from(byte)) % (1 << 79));
    Cluster {
        labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        reach: Reach::Online,
        ..Cluster::new(ClusterId::from_parts(1, random), name, ClusterKind::Agent, Timestamp::default())
    }
}

pub(super) fn set(path: &str, value: Value) -> PatchOp {
    PatchOp::Set { path: path.to_owned(), value }
}

pub(super) fn remove(path: &str) -> PatchOp {
    PatchOp::Remove { path: path.to_owned() }
}

/// An override for every cluster, with patches for every object.
pub(super) fn over(name: &str, ops: Vec<PatchOp>) -> Override {
    let patch = |op| Patch { object: ObjectSelector::default(), op };
    Override {
        id: OverrideId::from_parts(1, u128::from(name.len() as u64)),
        name: name.to_owned(),
        target: Target { selector: Some(Selector::default()), ..Target::default() },
        priority: DEFAULT_PRIORITY,
        patches: ops.into_iter().map(patch).collect(),
    }
}

fn named(name: &str, cluster: &str, ops: Vec<PatchOp>) -> Override {
    Override { target: Target { clusters: vec![cluster.into()], ..Target::default() }, ..over(name, ops) }
}

fn deployment() -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [
                    {"name": "web", "image": "nginx:1", "args": ["-a", "-b"], "ports": [{"containerPort": 80}]},
                ]},
            },
        },
    })
}

fn on_prod(overrides: &[Override]) -> Effective {
    let groups =
        [ClusterGroup { name: "eu".into(), members: vec!["prod-eu".into()], ..ClusterGroup::default() }];
    effective(&[deployment()], overrides, &cluster("prod-eu", &[("env", "prod")]), &groups)
}

fn at(effective: &Effective, path: &str) -> Value {
    path.parse::<crate::path::Path>().unwrap().get(&effective.objects[0]).cloned().unwrap_or(Value::Null)
}

fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|f| format!("{} {} {}", f.code, f.message, f.hint)).collect()
}

#[test]
fn s1_11_a_patch_names_the_container_and_not_its_position() {
    let result = on_prod(&[over(
        "img",
        vec![set("/spec/template/spec/containers[name=web]/image", json!("nginx:2"))],
    )]);
    assert_eq!(at(&result, "/spec/template/spec/containers/0/image"), "nginx:2");
    assert_eq!(result.findings, []);
}

#[test]
fn items_are_chosen_by_any_scalar_key_and_lists_can_be_appended_to() {
    let containers = "/spec/template/spec/containers";
    let result = on_prod(&[over(
        "x",
        vec![
            set(&format!("{containers}[name=web]/ports[containerPort=80]/name"), json!("http")),
            set(&format!("{containers}/-"), json!({"name": "side", "image": "envoy"})),
            set(&format!("{containers}/0/args/-"), json!("-c")),
            set("/spec/template/spec/tolerations/-/operator", json!("Exists")),
            set("/metadata/annotations/a.io~1b", json!("yes")),
        ],
    )]);
    assert_eq!(result.findings, []);
    assert_eq!(at(&result, &format!("{containers}[name=web]/ports/0/name")), "http");
    assert_eq!(at(&result, &format!("{containers}[name=side]/image")), "envoy");
    assert_eq!(at(&result, &format!("{containers}/0/args")), json!(["-a", "-b", "-c"]));
    assert_eq!(at(&result, "/spec/template/spec/tolerations"), json!([{"operator": "Exists"}]));
    assert_eq!(result.objects[0]["metadata"]["annotations"]["a.io/b"], "yes");
}

#[test]
fn e_8_group_before_selector_before_cluster_then_priority_then_name() {
    let replicas = |n: u32| vec![set("/spec/replicas", json!(n))];
    let group = Target { groups: vec!["eu".into()], ..Target::default() };
    let selector = Target { selector: "env=prod".parse().ok(), ..Target::default() };
    let all = [
        named("a-cluster", "prod-eu", replicas(6)),
        Override { priority: 900, ..named("strong-cluster", "prod-eu", replicas(7)) },
        Override { target: selector.clone(), ..over("z-selector", replicas(5)) },
        Override { target: selector, ..over("a-selector", replicas(4)) },
        Override { priority: 1_000, target: group, ..over("group", replicas(3)) },
        named("elsewhere", "prod-us", replicas(9)),
    ];
    let result = on_prod(&all);
    assert_eq!(at(&result, "/spec/replicas"), 7);
    let [chain] = &result.provenance[..] else { panic!("{:?}", result.provenance) };
    assert_eq!(chain.path, "/spec/replicas");
    let names: Vec<String> = chain.layers.iter().map(|layer| format!("{layer:?}")).collect();
    let expected = ["strong-cluster", "a-cluster", "z-selector", "a-selector", "group", "Base"];
    assert!(names.iter().zip(expected).all(|(name, expected)| name.contains(expected)), "{names:?}");
    let values: Vec<u64> = chain.values.iter().map(|v| v.as_ref().unwrap().as_u64().unwrap()).collect();
    assert_eq!(values, [7, 6, 5, 4, 3, 2]);
}

#[test]
fn e_8_the_most_specific_part_of_a_target_counts() {
    let target = Target {
        clusters: vec!["prod-eu".into()],
        groups: vec!["eu".into()],
        selector: Some(Selector::default()),
    };
    let groups = [ClusterGroup { name: "eu".into(), members: vec!["b".into()], ..ClusterGroup::default() }];
    assert_eq!(target.specificity(&cluster("prod-eu", &[]), &groups), Some(Specificity::Cluster));
    assert_eq!(target.specificity(&cluster("b", &[]), &groups), Some(Specificity::Selector));
    let group_only = Target { groups: vec!["eu".into()], ..Target::default() };
    assert_eq!(group_only.specificity(&cluster("b", &[]), &groups), Some(Specificity::Group));
    assert_eq!(Target::default().specificity(&cluster("b", &[]), &groups), None);
}

#[test]
fn e_8_removed_fields_and_replaced_lists_have_a_provenance_too() {
    let result = on_prod(&[over(
        "x",
        vec![
            remove("/spec/template/spec/containers[name=web]/ports"),
            PatchOp::Merge {
                value: json!({"spec": {"template": {"metadata": {"labels": {"tier": "edge"}}}}}),
            },
        ],
    )]);
    let leaves: Vec<(&str, usize, &Option<Value>)> =
        result.provenance.iter().map(|p| (p.path.as_str(), p.layers.len(), &p.values[0])).collect();
    assert_eq!(
        leaves,
        [
            ("/spec/template/metadata/labels/tier", 1, &Some(json!("edge"))),
            ("/spec/template/spec/containers[name=web]/ports", 2, &None),
        ]
    );
}

#[test]
fn g507_a_position_that_is_not_there_proposes_the_name() {
    let result = on_prod(&[over("edge", vec![set("/spec/template/spec/containers/1/image", json!("x"))])]);
    assert_eq!(
        told(&result.findings),
        [
            "G507 Override \"edge\": /spec/template/spec/containers/1/image of Deployment shop/web: there is only item \
          0 (\"web\"). Use containers[name=web] to choose the item by its name."
        ]
    );
    assert_eq!(result.findings[0].severity, Severity::Error);
    assert_eq!(result.objects[0], deployment());
}

#[test]
fn g507_every_way_to_miss_is_told_with_a_way_out() {
    let cases = [
        (remove("/spec/replica"), "there is no field \"replica\"", "Did you mean \"replicas\"?"),
        (
            set("/spec/template/spec/containers[name=wbe]/image", json!(1)),
            "no item has name=wbe",
            "Did you mean containers[name=web]?",
        ),
        (
            set("/spec/template/spec/containers[image=x]/image", json!(1)),
            "no item has image=x",
            "Use containers[image=nginx:1]",
        ),
        (
            set("/spec/template/spec/containers/web/image", json!(1)),
            "not the position",
            "containers[name=web]",
        ),
        (set("/spec[name=web]/x", json!(1)), "no list to choose", "behind a list"),
        (set("/spec/replicas/x", json!(1)), "neither a map nor a list", "Check the path"),
        (remove("/spec/template/spec/containers/-"), "not the position", "containers[name=web]"),
        (PatchOp::Merge { value: json!([1]) }, "only a map", "as a map"),
    ];
    for (op, why, hint) in cases {
        let result = on_prod(&[over("x", vec![op.clone()])]);
        let [finding] = &result.findings[..] else { panic!("{op:?}: {:?}", result.findings) };
        assert_eq!(finding.code, "G507", "{op:?}");
        assert!(finding.message.contains(why), "{op:?}: {}", finding.message);
        assert!(finding.hint.contains(hint), "{op:?}: {}", finding.hint);
        assert_eq!(finding.clusters, ["prod-eu"]);
    }
}

#[test]
fn g507_a_patch_for_an_object_that_is_not_in_the_source_is_told() {
    let mut missing = over("x", vec![set("/spec/replicas", json!(3))]);
    missing.patches[0].object =
        ObjectSelector { kind: "StatefulSet".into(), name: "db".into(), ..Default::default() };
    let result = on_prod(&[missing]);
    assert!(
        told(&result.findings)[0]
            .starts_with("G507 Override \"x\" is for StatefulSet db, and the source has no")
    );
    assert_eq!(effective(&[], &[over("x", vec![remove("/a")])], &cluster("c", &[]), &[]).findings, []);
}

#[test]
fn g508_two_of_one_strength_that_disagree_are_told_with_the_winner() {
    let result = on_prod(&[
        over("prod", vec![set("/spec/replicas", json!(5))]),
        over("eu", vec![set("/spec/replicas", json!(3))]),
    ]);
    assert_eq!(
        told(&result.findings),
        ["G508 \"eu\" and \"prod\" both set /spec/replicas (3 and 5). \"prod\" wins by order of names. \
          Set priorities to make plain which one is meant."]
    );
    assert_eq!(at(&result, "/spec/replicas"), 5);
    let agreed = on_prod(&[
        over("prod", vec![set("/spec/replicas", json!(5))]),
        Override { priority: 501, ..over("eu", vec![set("/spec/replicas", json!(3))]) },
    ]);
    assert_eq!(agreed.findings, []);
}

#[test]
fn g508_and_g509_never_show_what_a_secret_holds() {
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"p": "old"}});
    let put = |name: &str, value: &str| over(name, vec![set("/stringData/p", json!(value))]);
    let all = [put("a", "old"), put("b", "hunter2"), put("c", "swordfish")];
    let result = effective(&[secret], &all, &cluster("c", &[]), &[]);
    let codes: Vec<&str> = result.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["G509", "G508"]);
    let text = told(&result.findings).concat();
    assert!(!text.contains("old") && !text.contains("hunter2") && !text.contains("swordfish"), "{text}");
}

#[test]
fn g509_a_patch_that_changes_nothing_is_told_with_what_is_there() {
    let result = on_prod(&[over(
        "same",
        vec![set("/spec/replicas", json!(2)), PatchOp::Merge { value: json!({"spec": {"replicas": 2}}) }],
    )]);
    assert_eq!(
        told(&result.findings),
        [
            "G509 Override \"same\" changes nothing: /spec/replicas of Deployment shop/web is 2 already. \
             Remove the patch, or set another value.",
            "G509 Override \"same\" changes nothing: Deployment shop/web is like that already. Remove the \
             patch, or set another value.",
        ]
    );
}

#[test]
fn g510_what_object_it_is_and_which_pods_it_has_cannot_be_overridden() {
    let cases = [
        (set("/kind", json!("StatefulSet")), "/kind"),
        (set("/apiVersion", json!("extensions/v1beta1")), "/apiVersion"),
        (set("/metadata/name", json!("other")), "/metadata/name"),
        (remove("/metadata/namespace"), "/metadata/namespace"),
        (PatchOp::Merge { value: json!({"metadata": {"namespace": "x"}}) }, "/metadata/namespace"),
        (set("/spec/selector/matchLabels/app", json!("x")), "/spec/selector"),
        (remove("/spec/template/metadata/labels/app"), "/spec/template/metadata/labels"),
    ];
    for (op, path) in cases {
        let result = on_prod(&[over("x", vec![op.clone()])]);
        let [finding] = &result.findings[..] else { panic!("{op:?}: {:?}", result.findings) };
        assert_eq!((finding.code.as_str(), finding.path.as_str()), ("G510", path), "{op:?}");
        assert!(finding.blocks());
    }
    let fine = [set("/apiVersion", json!("apps/v2")), set("/spec/template/metadata/labels/x", json!("y"))];
    assert_eq!(on_prod(&[over("x", fine.into())]).findings, []);
}

#[test]
fn overrides_are_checked_without_a_cluster() {
    let mut wrong = over("Bad Name", vec![set("replicas", json!(1)), set("", json!({}))]);
    wrong.priority = 1_001;
    wrong.target = Target::default();
    let findings = check(&[over("a", vec![remove("/x")]), over("a", vec![]), wrong]);
    let places: Vec<(&str, &str)> = findings.iter().map(|f| (f.code.as_str(), f.path.as_str())).collect();
    assert_eq!(
        places,
        [
            ("G101", "/overrides/1/name"),
            ("G509", "/overrides/1/patches"),
            ("G101", "/overrides/2/name"),
            ("G508", "/overrides/2/priority"),
            ("G506", "/overrides/2/target"),
            ("G507", "/overrides/2/patches/0"),
            ("G507", "/overrides/2/patches/1"),
        ]
    );
}

#[test]
fn g506_an_override_for_nobody_is_told_with_the_name_that_was_meant() {
    let fleet = [cluster("gke-demo", &[("env", "dev")]), cluster("prod-eu", &[("env", "prod")])];
    let groups =
        [ClusterGroup { name: "europe".into(), members: vec!["prod-eu".into()], ..ClusterGroup::default() }];
    let chosen = [fleet[1].id];
    let of = |target: Target| {
        let over = Override { target, ..over("x", vec![remove("/a")]) };
        told(&check_targets(&[over], &fleet, &chosen, &groups))
    };
    let clusters = |name: &str| Target { clusters: vec![name.into()], ..Target::default() };
    let group = |name: &str| Target { groups: vec![name.into()], ..Target::default() };
    assert_eq!(
        of(clusters("gke-dmo")),
        [
            "G506 Override \"x\" for \"gke-dmo\" applies to nothing: there is no such cluster. Did you mean \"gke-demo\"?"
        ]
    );
    assert!(of(clusters("gke-demo"))[0].contains("the placement does not choose that cluster"));
    assert!(of(clusters("prod-eu")).is_empty());
    assert!(of(group("europe")).is_empty());
    assert!(of(group("erope"))[0].contains("Did you mean \"europe\"?"));
    let dev = Target { selector: "env=dev".parse().ok(), ..Target::default() };
    assert!(of(dev)[0].contains("it is for none of the chosen clusters"));
}
