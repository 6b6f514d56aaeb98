//! Overrides by example.

use serde_json::json;

use super::*;
use crate::kubernetes::id::ClusterId;
use crate::kubernetes::time::Timestamp;
use crate::model::cluster::{Cluster, ClusterKind, ConfirmedFacts, Connectivity};
use crate::model::placement::ClusterGroup;
use crate::text::finding::{Finding, Severity};

pub(super) fn cluster(name: &str, labels: &[(&str, &str)]) -> Cluster {
    let random = name.bytes().fold(7_u128, |sum, byte| (sum * 257 + u128::from(byte)) % (1 << 79));
    Cluster {
        labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        connectivity: Connectivity::Online,
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
pub(super) fn override_everywhere(name: &str, ops: Vec<PatchOp>) -> Override {
    let patch = |op| Patch { object: ObjectSelector::default(), op };
    Override {
        id: OverrideId::from_parts(1, u128::from(name.len() as u64)),
        name: name.to_owned(),
        target: ClusterSelector { selector: Some(LabelSelector::default()), ..ClusterSelector::default() },
        priority: DEFAULT_PRIORITY,
        values: String::new(),
        patches: ops.into_iter().map(patch).collect(),
    }
}

fn override_on(name: &str, cluster: &str, ops: Vec<PatchOp>) -> Override {
    Override {
        target: ClusterSelector { clusters: vec![cluster.into()], ..ClusterSelector::default() },
        ..override_everywhere(name, ops)
    }
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

fn apply_on_prod(overrides: &[Override]) -> OverrideResult {
    let groups =
        [ClusterGroup { name: "eu".into(), members: vec!["prod-eu".into()], ..ClusterGroup::default() }];
    apply_overrides(&[deployment()], overrides, &cluster("prod-eu", &[("env", "prod")]), &groups, "shop")
}

fn value_at(effective: &OverrideResult, path: &str) -> Value {
    path.parse::<crate::kubernetes::field_path::FieldPath>()
        .unwrap()
        .get(&effective.objects[0])
        .cloned()
        .unwrap_or(Value::Null)
}

fn format_findings(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|f| format!("{} {} {}", f.code, f.message, f.hint)).collect()
}

#[test]
fn s1_11_a_patch_names_the_container_and_not_its_position() {
    let result = apply_on_prod(&[override_everywhere(
        "img",
        vec![set("/spec/template/spec/containers[name=web]/image", json!("nginx:2"))],
    )]);
    assert_eq!(value_at(&result, "/spec/template/spec/containers/0/image"), "nginx:2");
    assert_eq!(result.findings, []);
}

#[test]
fn items_are_selected_by_any_scalar_key_and_lists_can_be_appended_to() {
    let containers = "/spec/template/spec/containers";
    let result = apply_on_prod(&[override_everywhere(
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
    assert_eq!(value_at(&result, &format!("{containers}[name=web]/ports/0/name")), "http");
    assert_eq!(value_at(&result, &format!("{containers}[name=side]/image")), "envoy");
    assert_eq!(value_at(&result, &format!("{containers}/0/args")), json!(["-a", "-b", "-c"]));
    assert_eq!(value_at(&result, "/spec/template/spec/tolerations"), json!([{"operator": "Exists"}]));
    assert_eq!(result.objects[0]["metadata"]["annotations"]["a.io/b"], "yes");
}

#[test]
fn e_8_group_before_selector_before_cluster_then_priority_then_name() {
    let replicas = |n: u32| vec![set("/spec/replicas", json!(n))];
    let group = ClusterSelector { groups: vec!["eu".into()], ..ClusterSelector::default() };
    let selector = ClusterSelector { selector: "env=prod".parse().ok(), ..ClusterSelector::default() };
    let all = [
        override_on("a-cluster", "prod-eu", replicas(6)),
        Override { priority: 900, ..override_on("strong-cluster", "prod-eu", replicas(7)) },
        Override { target: selector.clone(), ..override_everywhere("z-selector", replicas(5)) },
        Override { target: selector, ..override_everywhere("a-selector", replicas(4)) },
        Override { priority: 1_000, target: group, ..override_everywhere("group", replicas(3)) },
        override_on("elsewhere", "prod-us", replicas(9)),
    ];
    let result = apply_on_prod(&all);
    assert_eq!(value_at(&result, "/spec/replicas"), 7);
    let [chain] = &result.provenance[..] else { panic!("{:?}", result.provenance) };
    assert_eq!(chain.path, "/spec/replicas");
    let names: Vec<String> = chain.layers.iter().map(|layer| format!("{layer:?}")).collect();
    let expected = ["strong-cluster", "a-cluster", "z-selector", "a-selector", "group", "Base"];
    assert!(names.iter().zip(expected).all(|(name, expected)| name.contains(expected)), "{names:?}");
    let values: Vec<u64> = chain.values.iter().map(|v| v.as_ref().unwrap().as_u64().unwrap()).collect();
    assert_eq!(values, [7, 6, 5, 4, 3, 2]);
}

#[test]
fn e_8_the_most_specific_part_of_a_target_determines_its_specificity() {
    let target = ClusterSelector {
        clusters: vec!["prod-eu".into()],
        groups: vec!["eu".into()],
        selector: Some(LabelSelector::default()),
        ..ClusterSelector::default()
    };
    let groups = [ClusterGroup { name: "eu".into(), members: vec!["b".into()], ..ClusterGroup::default() }];
    assert_eq!(target.specificity(&cluster("prod-eu", &[]), &groups), Some(Specificity::Cluster));
    assert_eq!(target.specificity(&cluster("b", &[]), &groups), Some(Specificity::Selector));
    let group_only = ClusterSelector { groups: vec!["eu".into()], ..ClusterSelector::default() };
    assert_eq!(group_only.specificity(&cluster("b", &[]), &groups), Some(Specificity::Group));
    assert_eq!(ClusterSelector::default().specificity(&cluster("b", &[]), &groups), None);
}

#[test]
fn e_8_removed_fields_and_merged_labels_have_provenance() {
    let result = apply_on_prod(&[override_everywhere(
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
fn g507_for_a_missing_position_the_hint_proposes_the_name() {
    let result = apply_on_prod(&[override_everywhere(
        "edge",
        vec![set("/spec/template/spec/containers/1/image", json!("x"))],
    )]);
    assert_eq!(
        format_findings(&result.findings),
        [
            "G507 Override \"edge\": /spec/template/spec/containers/1/image of Deployment shop/web: there is only item \
          0 (\"web\"). Use containers[name=web] to select the item by its name."
        ]
    );
    assert_eq!(result.findings[0].severity, Severity::Error);
    assert_eq!(result.objects[0], deployment());
}

#[test]
fn g507_every_patch_error_has_a_reason_and_a_hint() {
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
        (set("/spec[name=web]/x", json!(1)), "no list to select", "in a list"),
        (set("/spec/replicas/x", json!(1)), "neither a map nor a list", "Check the path"),
        (remove("/spec/template/spec/containers/-"), "not the position", "containers[name=web]"),
        (PatchOp::Merge { value: json!([1]) }, "only a map", "as a map"),
    ];
    for (op, why, hint) in cases {
        let result = apply_on_prod(&[override_everywhere("x", vec![op.clone()])]);
        let [finding] = &result.findings[..] else { panic!("{op:?}: {:?}", result.findings) };
        assert_eq!(finding.code, "G507", "{op:?}");
        assert!(finding.message.contains(why), "{op:?}: {}", finding.message);
        assert!(finding.hint.contains(hint), "{op:?}: {}", finding.hint);
        assert_eq!(finding.clusters, ["prod-eu"]);
    }
}

#[test]
fn an_object_without_a_namespace_is_named_with_that_of_its_workload_too() {
    let mut object = deployment();
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    let apply = |kind: &str, name: &str, namespace: &str| {
        let mut over = override_everywhere("x", vec![set("/spec/replicas", json!(3))]);
        over.patches[0].object =
            ObjectSelector { kind: kind.into(), name: name.into(), namespace: namespace.into() };
        let result = apply_overrides(std::slice::from_ref(&object), &[over], &cluster("c", &[]), &[], "shop");
        (result.objects[0]["spec"]["replicas"].clone(), result.findings.len())
    };
    assert_eq!(apply("Deployment", "web", "shop"), (json!(3), 0));
    assert_eq!(apply("Deployment", "web", ""), (json!(3), 0));
    assert_eq!(apply("Deployment", "web", "other"), (json!(2), 1));
    // Not by its namespace alone: it may be of a kind without one.
    assert_eq!(apply("", "", "shop"), (json!(2), 1));
}

#[test]
fn g507_a_patch_for_an_object_that_is_not_in_the_source_is_reported() {
    let mut missing = override_everywhere("x", vec![set("/spec/replicas", json!(3))]);
    missing.patches[0].object =
        ObjectSelector { kind: "StatefulSet".into(), name: "db".into(), ..Default::default() };
    let result = apply_on_prod(&[missing]);
    assert!(
        format_findings(&result.findings)[0]
            .starts_with("G507 Override \"x\" changes StatefulSet db, but the source has no")
    );
    assert_eq!(
        apply_overrides(&[], &[override_everywhere("x", vec![remove("/a")])], &cluster("c", &[]), &[], "")
            .findings,
        []
    );
}

#[test]
fn g508_conflicting_overrides_of_equal_precedence_are_reported_with_the_effective_one() {
    let result = apply_on_prod(&[
        override_everywhere("prod", vec![set("/spec/replicas", json!(5))]),
        override_everywhere("eu", vec![set("/spec/replicas", json!(3))]),
    ]);
    assert_eq!(
        format_findings(&result.findings),
        [
            "G508 Overrides \"eu\" and \"prod\" both set /spec/replicas (3 and 5). \"prod\" takes precedence by order of names. \
          Set different priorities to make the precedence explicit."
        ]
    );
    assert_eq!(value_at(&result, "/spec/replicas"), 5);
    let agreed = apply_on_prod(&[
        override_everywhere("prod", vec![set("/spec/replicas", json!(5))]),
        Override { priority: 501, ..override_everywhere("eu", vec![set("/spec/replicas", json!(3))]) },
    ]);
    assert_eq!(agreed.findings, []);
}

#[test]
fn g508_and_g509_never_show_the_values_of_a_secret() {
    let secret =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"p": "old"}});
    let put = |name: &str, value: &str| override_everywhere(name, vec![set("/stringData/p", json!(value))]);
    let all = [put("a", "old"), put("b", "hunter2"), put("c", "swordfish")];
    let result = apply_overrides(&[secret], &all, &cluster("c", &[]), &[], "");
    let codes: Vec<&str> = result.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["G509", "G508"]);
    let text = format_findings(&result.findings).concat();
    assert!(!text.contains("old") && !text.contains("hunter2") && !text.contains("swordfish"), "{text}");
}

#[test]
fn g509_a_patch_that_changes_nothing_is_reported_with_the_current_value() {
    let result = apply_on_prod(&[override_everywhere(
        "same",
        vec![set("/spec/replicas", json!(2)), PatchOp::Merge { value: json!({"spec": {"replicas": 2}}) }],
    )]);
    assert_eq!(
        format_findings(&result.findings),
        [
            "G509 Override \"same\" changes nothing: /spec/replicas of Deployment shop/web is already 2. \
             Remove the patch, or set another value.",
            "G509 Override \"same\" changes nothing: Deployment shop/web already has these values. Remove the \
             patch, or set another value.",
        ]
    );
}

#[test]
fn g510_the_identity_and_the_pod_selection_of_an_object_cannot_be_overridden() {
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
        let result = apply_on_prod(&[override_everywhere("x", vec![op.clone()])]);
        let [finding] = &result.findings[..] else { panic!("{op:?}: {:?}", result.findings) };
        assert_eq!((finding.code.as_str(), finding.path.as_str()), ("G510", path), "{op:?}");
        assert!(finding.is_blocking());
    }
    let fine = [set("/apiVersion", json!("apps/v2")), set("/spec/template/metadata/labels/x", json!("y"))];
    assert_eq!(apply_on_prod(&[override_everywhere("x", fine.into())]).findings, []);
}

#[test]
fn overrides_are_checked_without_a_cluster() {
    let mut wrong = override_everywhere("Bad Name", vec![set("replicas", json!(1)), set("", json!({}))]);
    wrong.priority = 1_001;
    wrong.target = ClusterSelector::default();
    let findings =
        check(&[override_everywhere("a", vec![remove("/x")]), override_everywhere("a", vec![]), wrong]);
    let paths: Vec<(&str, &str)> = findings.iter().map(|f| (f.code.as_str(), f.path.as_str())).collect();
    assert_eq!(
        paths,
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
fn g506_an_override_without_clusters_is_reported_with_the_nearest_name() {
    let fleet = [cluster("gke-demo", &[("env", "dev")]), cluster("prod-eu", &[("env", "prod")])];
    let groups =
        [ClusterGroup { name: "europe".into(), members: vec!["prod-eu".into()], ..ClusterGroup::default() }];
    let selected = [fleet[1].id];
    let check_target = |target: ClusterSelector| {
        let over = Override { target, ..override_everywhere("x", vec![remove("/a")]) };
        format_findings(&check_targets(&[over], &fleet, &selected, &groups))
    };
    let clusters = |name: &str| ClusterSelector { clusters: vec![name.into()], ..ClusterSelector::default() };
    let group = |name: &str| ClusterSelector { groups: vec![name.into()], ..ClusterSelector::default() };
    assert_eq!(
        check_target(clusters("gke-dmo")),
        [
            "G506 Override \"x\" for \"gke-dmo\" has no effect: there is no such cluster. Did you mean \"gke-demo\"?"
        ]
    );
    assert!(check_target(clusters("gke-demo"))[0].contains("the placement does not select that cluster"));
    assert!(check_target(clusters("prod-eu")).is_empty());
    assert!(check_target(group("europe")).is_empty());
    assert!(check_target(group("erope"))[0].contains("Did you mean \"europe\"?"));
    let dev = ClusterSelector { selector: "env=dev".parse().ok(), ..ClusterSelector::default() };
    assert!(check_target(dev)[0].contains("it matches none of the selected clusters"));
}

#[test]
fn g506_labels_and_facts_that_no_cluster_has_are_reported_also_beside_names() {
    let fleet = [cluster("prod-eu", &[("env", "prod")])];
    let selected = [fleet[0].id];
    let check_target = |selector: &str, facts: &str| {
        let target = ClusterSelector {
            clusters: vec!["prod-eu".into()],
            selector: selector.parse().ok().filter(|selector: &LabelSelector| !selector.is_empty()),
            field_selector: facts.parse().unwrap(),
            ..ClusterSelector::default()
        };
        let over = Override { target, ..override_everywhere("x", vec![remove("/a")]) };
        format_findings(&check_targets(&[over], &fleet, &selected, &[]))
    };
    assert_eq!(check_target("", ""), Vec::<String>::new());
    assert_eq!(check_target("env=prod", ""), Vec::<String>::new());
    for (selector, facts, named) in [
        ("env=moon", "", "labels env=moon"),
        ("", "provider=aws", "facts provider=aws"),
        ("env=prod", "provider=aws", "labels env=prod and facts provider=aws"),
    ] {
        let found = check_target(selector, facts);
        assert!(found[0].starts_with("G506 ") && found[0].contains(named), "{found:?}");
        assert!(found[0].contains("no cluster has them"), "{found:?}");
    }
}

#[test]
fn s4_7_an_override_by_facts_applies_where_the_confirmed_facts_match_and_nowhere_else() {
    let with_facts = |name: &str, (provider, region, version): (&str, &str, &str)| {
        let confirmed_facts = ConfirmedFacts {
            provider: provider.into(),
            region: region.into(),
            kubernetes_version: version.into(),
            ..ConfirmedFacts::default()
        };
        Cluster { confirmed_facts, ..cluster(name, &[("env", "prod")]) }
    };
    let mut unconfirmed = cluster("unconfirmed", &[("env", "prod")]);
    unconfirmed.facts.provider = "aws".into();
    let fleet = [
        with_facts("eks", ("aws", "eu-west-1", "v1.33.4-eks-1")),
        with_facts("edge", ("aws", "us-east-1", "v1.33.4+k3s1")),
        with_facts("gke", ("gce", "eu-west1", "v1.32.9-gke.10")),
        unconfirmed,
    ];
    let selected = |target: &ClusterSelector| -> Vec<&str> {
        let is_selected = |cluster: &&Cluster| target.specificity(cluster, &[]).is_some();
        fleet.iter().filter(is_selected).map(|cluster| cluster.name.as_str()).collect()
    };
    let by_facts =
        |text: &str| ClusterSelector { field_selector: text.parse().unwrap(), ..ClusterSelector::default() };
    assert_eq!(selected(&by_facts("provider=aws")), ["eks", "edge"]);
    assert_eq!(selected(&by_facts("distribution in (eks,gke)")), ["eks", "gke"]);
    assert_eq!(selected(&by_facts("provider=aws,region!=us-east-1")), ["eks"]);
    assert_eq!(selected(&by_facts("!provider")), ["unconfirmed"]);
    // Labels and facts must match together; names and groups add clusters.
    let both =
        |labels: &str| ClusterSelector { selector: labels.parse().ok(), ..by_facts("distribution=k3s") };
    assert_eq!(selected(&both("env=prod")), ["edge"]);
    assert_eq!(selected(&both("env=dev")), Vec::<&str>::new());
    let named = ClusterSelector { clusters: vec!["gke".into()], ..both("env=prod") };
    assert_eq!(selected(&named), ["edge", "gke"]);
    assert_eq!(named.specificity(&fleet[1], &[]), Some(Specificity::Selector));
    assert_eq!(named.specificity(&fleet[2], &[]), Some(Specificity::Cluster));

    let text = serde_json::to_value(by_facts("provider=aws")).unwrap();
    assert_eq!(text, json!({"fieldSelector": "provider=aws"}));
    assert_eq!(serde_json::from_value::<ClusterSelector>(text).unwrap(), by_facts("provider=aws"));
    assert!(!by_facts("provider").is_empty() && by_facts("").is_empty());
}

#[test]
fn g506_an_override_whose_facts_match_no_selected_cluster_is_reported() {
    let fleet = [cluster("prod-eu", &[])];
    let over = |text: &str| {
        let target = ClusterSelector { field_selector: text.parse().unwrap(), ..ClusterSelector::default() };
        [Override { target, ..override_everywhere("x", vec![remove("/a")]) }]
    };
    let found = format_findings(&check_targets(&over("provider=aws"), &fleet, &[fleet[0].id], &[]));
    assert!(found[0].contains("it matches none of the selected clusters"), "{found:?}");
    assert!(found[0].contains("confirmed facts"), "{found:?}");
    let contradictory = check(&over("provider=aws,provider=gce"));
    let paths: Vec<&str> = contradictory.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(paths, ["/overrides/0/target/fieldSelector"]);
}
