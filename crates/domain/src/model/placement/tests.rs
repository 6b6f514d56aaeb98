//! Placement by example: every filter with its requirement, the value found and the remedy.

use super::*;
use crate::model::cluster::{ClusterKind, Connectivity, Taint};
use crate::text::finding::Severity;

mod selection;

/// A cluster `name` with these labels; its id is derived from its name.
pub(super) fn cluster(name: &str, labels: &[(&str, &str)]) -> Cluster {
    let random = name.bytes().fold(7_u128, |sum, byte| (sum * 257 + u128::from(byte)) % (1 << 79));
    Cluster {
        labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        connectivity: Connectivity::Online,
        ..Cluster::new(ClusterId::from_parts(1, random), name, ClusterKind::Agent, Timestamp::default())
    }
}

fn tainted_cluster(name: &str, key: &str, effect: TaintEffect) -> Cluster {
    let taint = Taint { key: key.to_owned(), value: String::new(), effect };
    Cluster { taints: vec![taint], ..cluster(name, &[]) }
}

pub(super) fn label_predicate(selector: &str) -> Predicate {
    Predicate { label_selector: selector.parse().unwrap(), ..Predicate::default() }
}

fn placement(predicates: Vec<Predicate>) -> Placement {
    Placement { predicates, ..Placement::default() }
}

fn placement_everywhere() -> Placement {
    placement(vec![Predicate::default()])
}

fn names<'a>(evaluations: impl Iterator<Item = &'a ClusterEvaluation>) -> Vec<&'a str> {
    evaluations.map(|evaluation| evaluation.name.as_str()).collect()
}

fn selected_names(decision: &Decision) -> Vec<&str> {
    names(decision.selected())
}

fn failed_filter<'a>(decision: &'a Decision, name: &str) -> &'a FilterResult {
    let evaluation = decision.evaluations.iter().find(|evaluation| evaluation.name == name).unwrap();
    evaluation.failed_filter().unwrap()
}

/// `expected | actual | remedy` of the filter that rejected the cluster.
fn describe_failed_filter(decision: &Decision, name: &str) -> String {
    let step = failed_filter(decision, name);
    format!("{} | {} | {}", step.expected, step.actual, step.remedy.as_ref().unwrap())
}

#[test]
fn s0_2_clusters_whose_labels_match_are_selected_in_order_of_names() {
    let clusters = [
        cluster("us-1", &[("env", "prod")]),
        cluster("eu-1", &[("env", "prod")]),
        cluster("dev-1", &[("env", "dev")]),
    ];
    let decision = decide(&placement(vec![label_predicate("env=prod")]), &clusters, &[], &[]);
    assert_eq!(selected_names(&decision), ["eu-1", "us-1"]);
    let steps: Vec<PlacementFilter> =
        decision.evaluations[0].filters.iter().map(|step| step.filter).collect();
    assert_eq!(
        steps,
        [
            PlacementFilter::Predicate,
            PlacementFilter::Exclude,
            PlacementFilter::Taint,
            PlacementFilter::Schedulable,
            PlacementFilter::Number
        ]
    );
}

#[test]
fn a_policy_without_predicates_selects_nothing_and_reports_why() {
    let decision = decide(&Placement::default(), &[cluster("eu-1", &[])], &[], &[]);
    assert_eq!(selected_names(&decision), [""; 0]);
    assert_eq!(
        describe_failed_filter(&decision, "eu-1"),
        "a cluster selection | no selection yet | select clusters by name, group or label"
    );
}

#[test]
fn e_3_a_label_mismatch_is_reported_with_expected_value_actual_value_and_remedy() {
    let dev = [cluster("dev-1", &[("env", "dev")])];
    let cases = [
        ("env=prod", "env=prod | env=dev | set the label env=prod"),
        ("region in (eu,us)", "region in (eu,us) | no label region | set the label region=eu (or us)"),
        ("env!=dev", "env!=dev | env=dev | change or remove the label env=dev"),
        ("zone", "zone | no label zone | add the label zone, with any value"),
        ("!env", "!env | env=dev | remove the label env"),
        ("env,env!=dev", "env, env!=dev | env=dev | set the label env to anything but dev"),
        (
            "env=prod,zone=a",
            "env=prod, zone=a | env=dev, no label zone | set the label env=prod and set the label zone=a",
        ),
        ("env=a,env=b", "env=a, env=b | env=dev | change the placement: no labels can satisfy this selector"),
    ];
    for (selector, expected) in cases {
        let decision = decide(&placement(vec![label_predicate(selector)]), &dev, &[], &[]);
        assert_eq!(describe_failed_filter(&decision, "dev-1"), expected, "{selector}");
    }
}

#[test]
fn r_2_clusters_can_be_named_and_the_remedy_for_a_rejected_one_is_to_name_it() {
    let clusters = [cluster("edge-1", &[]), cluster("edge-2", &[]), cluster("edge-3", &[])];
    let names = Predicate { names: vec!["edge-1".into(), "edge-2".into()], ..Predicate::default() };
    let decision = decide(&placement(vec![names]), &clusters, &[], &[]);
    assert_eq!(selected_names(&decision), ["edge-1", "edge-2"]);
    assert_eq!(
        describe_failed_filter(&decision, "edge-3"),
        "one of the clusters edge-1 or edge-2 | edge-3 | add edge-3 to the names in the placement"
    );
}

#[test]
fn long_lists_of_names_are_truncated_in_messages() {
    let names = (0..1_000).map(|n| format!("c-{n}")).collect();
    let policy = placement(vec![Predicate { names, ..Predicate::default() }]);
    let decision = decide(&policy, &[cluster("other", &[])], &[], &[]);
    let expected = failed_filter(&decision, "other").expected.to_string();
    assert_eq!(expected, "one of the clusters c-0, c-1, c-2, c-3, c-4 or 995 more");
}

#[test]
fn the_remedy_for_a_group_is_a_member_a_label_or_the_creation_of_the_group() {
    let static_group =
        ClusterGroup { name: "eu".into(), members: vec!["a".into()], ..ClusterGroup::default() };
    let dynamic = ClusterGroup {
        name: "gpu".into(),
        members: vec![],
        selector: "gpu=yes".parse().ok(),
        ..ClusterGroup::default()
    };
    let groups = [static_group, dynamic];
    let clusters = [cluster("a", &[]), cluster("b", &[("gpu", "yes")]), cluster("c", &[])];
    let decide_for = |group: &str| {
        let predicate = Predicate { groups: vec![group.into()], ..Predicate::default() };
        decide(&placement(vec![predicate]), &clusters, &groups, &[])
    };
    assert_eq!(selected_names(&decide_for("eu")), ["a"]);
    assert_eq!(selected_names(&decide_for("gpu")), ["b"]);
    assert_eq!(
        describe_failed_filter(&decide_for("eu"), "c"),
        "in the group eu | not a member | add the cluster to the group eu"
    );
    assert_eq!(
        describe_failed_filter(&decide_for("gpu"), "c"),
        "in the group gpu | not a member | set the label gpu=yes"
    );
    assert_eq!(
        failed_filter(&decide_for("nope"), "c").remedy,
        Some(Remedy::Change { changes: vec![RequiredChange::CreateGroup { group: "nope".into() }] })
    );
}

#[test]
fn e_3_of_several_predicates_the_matching_one_or_the_nearest_one_is_reported() {
    let policy = placement(vec![label_predicate("env=prod,region=eu,zone"), label_predicate("tier=edge")]);
    let clusters = [cluster("edge", &[("tier", "edge")]), cluster("far", &[])];
    let decision = decide(&policy, &clusters, &[], &[]);
    assert_eq!(decision.evaluations[0].filters[0].expected.to_string(), "tier=edge (predicate 2 of 2)");
    assert_eq!(
        describe_failed_filter(&decision, "far"),
        "tier=edge (predicate 2 of 2) | no label tier | set the label tier=edge"
    );
}

#[test]
fn an_excluded_cluster_is_rejected_by_name() {
    let policy = Placement { exclude: vec!["b".into()], ..placement_everywhere() };
    let decision = decide(&policy, &[cluster("a", &[]), cluster("b", &[])], &[], &[]);
    assert_eq!(selected_names(&decision), ["a"]);
    assert_eq!(
        describe_failed_filter(&decision, "b"),
        "not excluded by name | excluded | remove b from the excluded clusters"
    );
}

#[test]
fn no_select_rejects_even_a_cluster_that_runs_the_workload() {
    let clusters = [tainted_cluster("a", "maintenance", TaintEffect::NoSelect)];
    let decision = decide(&placement_everywhere(), &clusters, &[], &[clusters[0].id]);
    assert_eq!(
        describe_failed_filter(&decision, "a"),
        "no untolerated taint | maintenance:NoSelect | tolerate maintenance:NoSelect, or remove the taint from a"
    );
}

#[test]
fn no_select_if_new_rejects_only_clusters_that_do_not_run_the_workload() {
    let effect = TaintEffect::NoSelectIfNew;
    let clusters = [tainted_cluster("old", "full", effect), tainted_cluster("new", "full", effect)];
    let decision = decide(&placement_everywhere(), &clusters, &[], &[clusters[0].id]);
    assert_eq!(selected_names(&decision), ["old"]);
    assert_eq!(failed_filter(&decision, "new").filter, PlacementFilter::Taint);
    assert_eq!(
        decision.evaluations[0].filters[2].actual.to_string(),
        "full:NoSelectIfNew, but already deployed"
    );
}

#[test]
fn prefer_no_select_ranks_last_and_matters_only_with_a_number() {
    let clusters =
        [tainted_cluster("a", "spot", TaintEffect::PreferNoSelect), cluster("b", &[]), cluster("c", &[])];
    assert_eq!(selected_names(&decide(&placement_everywhere(), &clusters, &[], &[])), ["a", "b", "c"]);
    let two = Placement { number_of_clusters: Some(2), ..placement_everywhere() };
    let decision = decide(&two, &clusters, &[], &[]);
    assert_eq!(selected_names(&decision), ["b", "c"]);
    assert_eq!(
        describe_failed_filter(&decision, "a"),
        "best 2 of the matching clusters | place 3 of 3: new, not preferred because of spot:PreferNoSelect, online | \
         raise the number of clusters to 3"
    );
}

#[test]
fn tolerations_match_taints_as_in_kubernetes() {
    let taint = Taint { key: "gpu".into(), value: "a100".into(), effect: TaintEffect::NoSelect };
    let toleration = |key: &str, operator, value: &str, effect| Toleration {
        key: key.into(),
        operator,
        value: value.into(),
        effect,
    };
    use TolerationOperator::{Equal, Exists};
    let cases = [
        (toleration("gpu", Equal, "a100", None), true),
        (toleration("gpu", Equal, "", None), false),
        (toleration("gpu", Equal, "v100", None), false),
        (toleration("cpu", Equal, "a100", None), false),
        (toleration("gpu", Exists, "", None), true),
        (toleration("cpu", Exists, "", None), false),
        (toleration("", Exists, "", None), true),
        (toleration("", Equal, "", None), false),
        (toleration("gpu", Exists, "", Some(TaintEffect::NoSelect)), true),
        (toleration("gpu", Exists, "", Some(TaintEffect::NoSelectIfNew)), false),
    ];
    for (toleration, expected) in cases {
        assert_eq!(toleration.tolerates(&taint), expected, "{toleration:?}");
    }
}

#[test]
fn a_cordoned_cluster_is_selected_only_if_it_runs_the_workload() {
    let cordoned = |name| Cluster { schedulable: false, ..cluster(name, &[]) };
    let clusters = [cordoned("old"), cordoned("new")];
    let decision = decide(&placement_everywhere(), &clusters, &[], &[clusters[0].id]);
    assert_eq!(selected_names(&decision), ["old"]);
    assert_eq!(describe_failed_filter(&decision, "new"), "schedulable | cordoned | uncordon new");
}

#[test]
fn a_number_prefers_current_then_untainted_then_online_then_name() {
    let mut offline = cluster("a-offline", &[]);
    offline.connectivity = Connectivity::Offline;
    let spot = tainted_cluster("b-spot", "spot", TaintEffect::PreferNoSelect);
    let mut current = cluster("z-current", &[]);
    current.connectivity = Connectivity::Offline;
    let clusters = [spot, offline, current.clone(), cluster("d", &[]), cluster("c", &[])];
    let ranked: Vec<Vec<String>> = (1..=5)
        .map(|n| {
            let policy = Placement { number_of_clusters: Some(n), ..placement_everywhere() };
            let decision = decide(&policy, &clusters, &[], &[current.id]);
            decision.selected().map(|evaluation| evaluation.name.clone()).collect()
        })
        .collect();
    assert_eq!(ranked[0], ["z-current"]);
    assert_eq!(ranked[1], ["c", "z-current"]);
    assert_eq!(ranked[2], ["c", "d", "z-current"]);
    assert_eq!(ranked[3], ["a-offline", "c", "d", "z-current"]);
    assert_eq!(ranked[4].len(), 5);
}

#[test]
fn e_3_rejected_clusters_are_listed_by_fewest_changes() {
    let mut two_away = tainted_cluster("b", "maintenance", TaintEffect::NoSelect);
    two_away.labels.insert("env".into(), "dev".into());
    let mut one_away = tainted_cluster("c", "maintenance", TaintEffect::NoSelect);
    one_away.labels.insert("env".into(), "prod".into());
    let clusters = [
        two_away,
        one_away,
        cluster("a", &[("env", "dev")]),
        cluster("d", &[("env", "prod")]),
        Cluster { schedulable: false, ..tainted_cluster("e", "maintenance", TaintEffect::NoSelect) },
    ];
    let decision = decide(&placement(vec![label_predicate("env=prod")]), &clusters, &[], &[]);
    // c and a both need one change; c passed more filters.
    assert_eq!(names(decision.evaluations.iter()), ["d", "c", "a", "b", "e"]);
}

#[test]
fn g502_tolerations_and_numbers_without_a_meaning_are_reported() {
    let bad = Placement {
        tolerations: vec![
            Toleration::default(),
            Toleration {
                key: "gpu".into(),
                operator: TolerationOperator::Exists,
                value: "yes".into(),
                effect: None,
            },
            Toleration { operator: TolerationOperator::Exists, ..Toleration::default() },
        ],
        number_of_clusters: Some(0),
        predicates: vec![label_predicate("env=a,env=b")],
        ..Placement::default()
    };
    let findings = check(&bad);
    let paths: Vec<_> = findings.iter().map(|finding| (finding.path.as_str(), finding.severity)).collect();
    assert_eq!(
        paths,
        [
            ("/placement/tolerations/0/key", Severity::Error),
            ("/placement/tolerations/1/value", Severity::Error),
            ("/placement/predicates/0/labelSelector", Severity::Warning),
            ("/placement/numberOfClusters", Severity::Error),
        ]
    );
    assert!(findings[1].hint.starts_with("If the operator is Exists, leave the value empty"));
    assert!(findings.iter().all(|finding| finding.code == "G502"));
    assert!(check(&Placement::default()).is_empty());
}

#[test]
fn filter_results_are_typed_in_json_and_read_back() {
    let clusters = [cluster("a", &[("env", "prod")]), cluster("b", &[("env", "prod")]), cluster("c", &[])];
    let policy =
        Placement { number_of_clusters: Some(1), ..placement(vec![label_predicate("env=prod,!legacy")]) };
    let decision = decide(&policy, &clusters, &[], &[]);
    let json = |name: &str| serde_json::to_value(failed_filter(&decision, name)).unwrap();
    assert_eq!(
        json("b"),
        serde_json::json!({
            "filter": "number",
            "passed": false,
            "expected": { "type": "number", "most": 1 },
            "actual": {
                "type": "rank", "position": 2, "of": 2, "deployed": false, "connectivity": "Online",
            },
            "remedy": { "type": "raiseNumber", "to": 2 },
        })
    );
    assert_eq!(
        json("c"),
        serde_json::json!({
            "filter": "predicate",
            "passed": false,
            "expected": { "type": "predicate", "labels": "env=prod,!legacy", "position": 1, "of": 1 },
            "actual": { "type": "cluster", "labels": [{ "key": "env" }, { "key": "legacy" }] },
            "remedy": {
                "type": "change",
                "changes": [{ "type": "setLabel", "key": "env", "value": "prod" }],
            },
        })
    );
    let text = serde_json::to_string(&decision).unwrap();
    assert_eq!(serde_json::from_str::<Decision>(&text).unwrap(), decision);
}
