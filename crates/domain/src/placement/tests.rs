//! Placement by example: every step with what it asks, sees and advises.

use super::*;
use crate::cluster::{ClusterKind, Reach, Taint};
use crate::finding::Severity;

mod choice;

/// A cluster `name` with these labels; its id follows from its name.
pub(super) fn cluster(name: &str, labels: &[(&str, &str)]) -> Cluster {
    let random = name.bytes().fold(7_u128, |sum, byte| (sum * 257 + u128::from(byte)) % (1 << 79));
    Cluster {
        labels: labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        reach: Reach::Online,
        ..Cluster::new(ClusterId::from_parts(1, random), name, ClusterKind::Agent, Timestamp::default())
    }
}

fn tainted(name: &str, key: &str, effect: TaintEffect) -> Cluster {
    let taint = Taint { key: key.to_owned(), value: String::new(), effect };
    Cluster { taints: vec![taint], ..cluster(name, &[]) }
}

pub(super) fn labelled(selector: &str) -> Predicate {
    Predicate { label_selector: selector.parse().unwrap(), ..Predicate::default() }
}

fn placement(predicates: Vec<Predicate>) -> Placement {
    Placement { predicates, ..Placement::default() }
}

fn everywhere() -> Placement {
    placement(vec![Predicate::default()])
}

fn names<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Vec<&'a str> {
    verdicts.map(|verdict| verdict.name.as_str()).collect()
}

fn chosen(decision: &Decision) -> Vec<&str> {
    names(decision.chosen())
}

fn refusal<'a>(decision: &'a Decision, name: &str) -> &'a StepResult {
    let verdict = decision.verdicts.iter().find(|verdict| verdict.name == name).unwrap();
    verdict.refusal().unwrap()
}

/// `asked | seen | remedy` of the refusing step.
fn told(decision: &Decision, name: &str) -> String {
    let step = refusal(decision, name);
    format!("{} | {} | {}", step.asked, step.seen, step.remedy)
}

#[test]
fn s0_2_the_clusters_whose_labels_match_are_chosen_by_name() {
    let clusters = [
        cluster("us-1", &[("env", "prod")]),
        cluster("eu-1", &[("env", "prod")]),
        cluster("dev-1", &[("env", "dev")]),
    ];
    let decision = decide(&placement(vec![labelled("env=prod")]), &clusters, &[], &[]);
    assert_eq!(chosen(&decision), ["eu-1", "us-1"]);
    let steps: Vec<Step> = decision.verdicts[0].steps.iter().map(|step| step.step).collect();
    assert_eq!(steps, [Step::Predicate, Step::Exclude, Step::Taint, Step::Schedulable, Step::Number]);
}

#[test]
fn a_policy_without_predicates_chooses_nothing_and_says_why() {
    let decision = decide(&Placement::default(), &[cluster("eu-1", &[])], &[], &[]);
    assert_eq!(chosen(&decision), [""; 0]);
    assert_eq!(
        told(&decision, "eu-1"),
        "some choice of clusters | none made yet | choose clusters by name, group or label"
    );
}

#[test]
fn e_3_a_wrong_label_is_told_with_what_was_asked_seen_and_what_to_do() {
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
        let decision = decide(&placement(vec![labelled(selector)]), &dev, &[], &[]);
        assert_eq!(told(&decision, "dev-1"), expected, "{selector}");
    }
}

#[test]
fn r_2_clusters_can_be_named_and_a_refused_one_is_told_to_be_named_too() {
    let clusters = [cluster("edge-1", &[]), cluster("edge-2", &[]), cluster("edge-3", &[])];
    let names = Predicate { names: vec!["edge-1".into(), "edge-2".into()], ..Predicate::default() };
    let decision = decide(&placement(vec![names]), &clusters, &[], &[]);
    assert_eq!(chosen(&decision), ["edge-1", "edge-2"]);
    assert_eq!(
        told(&decision, "edge-3"),
        "one of the clusters edge-1 or edge-2 | edge-3 | add edge-3 to the names in the placement"
    );
}

#[test]
fn long_lists_of_names_are_cut_in_what_people_read() {
    let names = (0..1_000).map(|n| format!("c-{n}")).collect();
    let policy = placement(vec![Predicate { names, ..Predicate::default() }]);
    let decision = decide(&policy, &[cluster("other", &[])], &[], &[]);
    let asked = &refusal(&decision, "other").asked;
    assert_eq!(asked, "one of the clusters c-0, c-1, c-2, c-3, c-4 or 995 more");
}

#[test]
fn groups_are_joined_by_name_by_label_or_have_to_be_made() {
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
    let of = |group: &str| {
        let predicate = Predicate { groups: vec![group.into()], ..Predicate::default() };
        decide(&placement(vec![predicate]), &clusters, &groups, &[])
    };
    assert_eq!(chosen(&of("eu")), ["a"]);
    assert_eq!(chosen(&of("gpu")), ["b"]);
    assert_eq!(told(&of("eu"), "c"), "in the group eu | not in it | add it to the group eu");
    assert_eq!(told(&of("gpu"), "c"), "in the group gpu | not in it | set the label gpu=yes");
    assert_eq!(refusal(&of("nope"), "c").remedy, "make the group nope, which does not exist, and add it");
}

#[test]
fn e_3_of_several_predicates_the_one_that_matched_or_the_nearest_miss_is_told() {
    let policy = placement(vec![labelled("env=prod,region=eu,zone"), labelled("tier=edge")]);
    let clusters = [cluster("edge", &[("tier", "edge")]), cluster("far", &[])];
    let decision = decide(&policy, &clusters, &[], &[]);
    assert_eq!(decision.verdicts[0].steps[0].asked, "tier=edge (predicate 2 of 2)");
    assert_eq!(
        told(&decision, "far"),
        "tier=edge (predicate 2 of 2) | no label tier | set the label tier=edge"
    );
}

#[test]
fn an_excluded_cluster_is_refused_by_name() {
    let policy = Placement { exclude: vec!["b".into()], ..everywhere() };
    let decision = decide(&policy, &[cluster("a", &[]), cluster("b", &[])], &[], &[]);
    assert_eq!(chosen(&decision), ["a"]);
    assert_eq!(told(&decision, "b"), "not excluded by name | excluded | remove b from the excluded clusters");
}

#[test]
fn no_select_keeps_out_even_a_cluster_that_has_the_workload() {
    let clusters = [tainted("a", "maintenance", TaintEffect::NoSelect)];
    let decision = decide(&everywhere(), &clusters, &[], &[clusters[0].id]);
    assert_eq!(
        told(&decision, "a"),
        "no taint that is not tolerated | maintenance:NoSelect | tolerate maintenance:NoSelect, or remove the taint from a"
    );
}

#[test]
fn no_select_if_new_keeps_those_that_have_the_workload_and_lets_no_other_in() {
    let effect = TaintEffect::NoSelectIfNew;
    let clusters = [tainted("old", "full", effect), tainted("new", "full", effect)];
    let decision = decide(&everywhere(), &clusters, &[], &[clusters[0].id]);
    assert_eq!(chosen(&decision), ["old"]);
    assert_eq!(refusal(&decision, "new").step, Step::Taint);
    assert_eq!(decision.verdicts[0].steps[2].seen, "full:NoSelectIfNew, but it has the workload already");
}

#[test]
fn prefer_no_select_is_the_last_choice_and_matters_only_with_a_number() {
    let clusters = [tainted("a", "spot", TaintEffect::PreferNoSelect), cluster("b", &[]), cluster("c", &[])];
    assert_eq!(chosen(&decide(&everywhere(), &clusters, &[], &[])), ["a", "b", "c"]);
    let two = Placement { number_of_clusters: Some(2), ..everywhere() };
    let decision = decide(&two, &clusters, &[], &[]);
    assert_eq!(chosen(&decision), ["b", "c"]);
    assert_eq!(
        told(&decision, "a"),
        "2 clusters | place 3 of 3: new, last choice by spot:PreferNoSelect, online | ask for 3 clusters"
    );
}

#[test]
fn tolerations_compare_as_kubernetes_does() {
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
fn a_cordoned_cluster_keeps_what_it_has_and_takes_nothing_new() {
    let cordoned = |name| Cluster { schedulable: false, ..cluster(name, &[]) };
    let clusters = [cordoned("old"), cordoned("new")];
    let decision = decide(&everywhere(), &clusters, &[], &[clusters[0].id]);
    assert_eq!(chosen(&decision), ["old"]);
    assert_eq!(
        told(&decision, "new"),
        "takes new workloads | takes no new workloads | let new take new workloads again (uncordon it)"
    );
}

#[test]
fn a_number_prefers_current_then_untainted_then_online_then_name() {
    let mut offline = cluster("a-offline", &[]);
    offline.reach = Reach::Offline;
    let spot = tainted("b-spot", "spot", TaintEffect::PreferNoSelect);
    let mut current = cluster("z-current", &[]);
    current.reach = Reach::Offline;
    let clusters = [spot, offline, current.clone(), cluster("d", &[]), cluster("c", &[])];
    let ranked: Vec<Vec<String>> = (1..=5)
        .map(|n| {
            let policy = Placement { number_of_clusters: Some(n), ..everywhere() };
            let decision = decide(&policy, &clusters, &[], &[current.id]);
            decision.chosen().map(|verdict| verdict.name.clone()).collect()
        })
        .collect();
    assert_eq!(ranked[0], ["z-current"]);
    assert_eq!(ranked[1], ["c", "z-current"]);
    assert_eq!(ranked[2], ["c", "d", "z-current"]);
    assert_eq!(ranked[3], ["a-offline", "c", "d", "z-current"]);
    assert_eq!(ranked[4].len(), 5);
}

#[test]
fn e_3_refused_clusters_are_listed_nearest_first() {
    let mut two_away = tainted("b", "maintenance", TaintEffect::NoSelect);
    two_away.labels.insert("env".into(), "dev".into());
    let mut one_away = tainted("c", "maintenance", TaintEffect::NoSelect);
    one_away.labels.insert("env".into(), "prod".into());
    let clusters = [
        two_away,
        one_away,
        cluster("a", &[("env", "dev")]),
        cluster("d", &[("env", "prod")]),
        Cluster { schedulable: false, ..tainted("e", "maintenance", TaintEffect::NoSelect) },
    ];
    let decision = decide(&placement(vec![labelled("env=prod")]), &clusters, &[], &[]);
    // c and a are both one change away; c got further.
    assert_eq!(names(decision.verdicts.iter()), ["d", "c", "a", "b", "e"]);
}

#[test]
fn g502_tolerations_and_numbers_that_cannot_be_meant_are_refused() {
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
        predicates: vec![labelled("env=a,env=b")],
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
