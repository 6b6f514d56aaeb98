//! Facts, scores, spreads and minimums by example.

use super::*;
use crate::cluster::{ClusterFacts, NodePool};
use crate::quantity::Quantity;

fn told_of(name: &str, provider: &str, version: &str) -> Cluster {
    let facts = ClusterFacts {
        provider: provider.into(),
        kubernetes_version: version.into(),
        zones: vec![format!("{provider}-a"), format!("{provider}-b")],
        ..ClusterFacts::default()
    };
    Cluster { facts, ..cluster(name, &[]) }
}

fn facts(selector: &str) -> Placement {
    placement(vec![Predicate { field_selector: selector.parse().unwrap(), ..Predicate::default() }])
}

/// `a` to `e` in three regions, as many as the numbers say.
fn regions(counts: &[(&str, usize)]) -> Vec<Cluster> {
    let of = |(region, count): &(&str, usize)| {
        (1..=*count).map(|n| cluster(&format!("{region}-{n}"), &[("region", region)])).collect::<Vec<_>>()
    };
    counts.iter().flat_map(of).collect()
}

fn spread(key: &str) -> Spread {
    Spread { key: key.into(), ..Spread::default() }
}

fn spread_over(key: &str, number: Option<u32>) -> Placement {
    Placement { spread: vec![spread(key)], number_of_clusters: number, ..everywhere() }
}

#[test]
fn s0_2_clusters_are_chosen_by_what_their_agents_found_out() {
    let clusters = [
        told_of("a", "aws", "v1.33.4"),
        told_of("b", "gce", "v1.32.9+k3s1"),
        told_of("c", "azure", "v1.34.0"),
        cluster("silent", &[]),
    ];
    for (selector, expected) in [
        ("provider=aws", vec!["a"]),
        ("provider in (aws,gce)", vec!["a", "b"]),
        ("provider!=aws", vec!["b", "c"]),
        ("!provider", vec!["silent"]),
        ("kubernetesVersion=1.33", vec!["a"]),
        ("k8sVersion>=1.33", vec!["a", "c"]),
        ("kubernetesVersion>1.33", vec!["c"]),
        ("kubernetesVersion<=1.33", vec!["a", "b"]),
        ("kubernetesVersion<1.33.4", vec!["b"]),
        ("zone=gce-b", vec!["b"]),
        ("zone notin (aws-a,gce-a)", vec!["c"]),
        ("provider in (aws,azure),kubernetesVersion>=1.34", vec!["c"]),
    ] {
        assert_eq!(chosen(&decide(&facts(selector), &clusters, &[], &[])), expected, "{selector}");
    }
}

#[test]
fn e_3_a_fact_that_does_not_fit_is_told_with_what_would_help() {
    let clusters = [told_of("old", "aws", "v1.30.1"), cluster("silent", &[])];
    let decision = decide(&facts("provider=aws,kubernetesVersion>=1.33"), &clusters, &[], &[]);
    assert_eq!(
        told(&decision, "old"),
        "provider=aws, kubernetesVersion>=1.33 | provider=aws, kubernetesVersion=v1.30.1 | upgrade it to Kubernetes 1.33 or newer"
    );
    assert_eq!(
        told(&decision, "silent"),
        "provider=aws, kubernetesVersion>=1.33 | provider not known, kubernetesVersion not known | \
         take provider=aws out of the placement and take kubernetesVersion>=1.33 out of the placement"
    );
}

#[test]
fn g502_a_selector_on_facts_that_cannot_be_read_says_why() {
    for (bad, why) in [
        ("cloud=aws", "is not a fact"),
        ("region>=eu", "can't be compared"),
        ("kubernetesVersion>=new", "is no version"),
        ("provider=a b", "not a label value"),
    ] {
        let error = bad.parse::<FactSelector>().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn scores_rank_and_their_parts_are_told() {
    let big = |name: &str, cores: u32, labels: &[(&str, &str)]| {
        let pool = NodePool { cpu: Quantity::whole(cores), ..NodePool::default() };
        let facts = ClusterFacts { node_pools: vec![pool], ..ClusterFacts::default() };
        Cluster { facts, ..cluster(name, labels) }
    };
    let clusters = [big("a", 4, &[]), big("b", 16, &[]), big("c", 8, &[("tier", "edge")])];
    let cpu = Score { name: ScoreName::AllocatableCpu, weight: 3, ..Score::default() };
    let edge = Score { name: ScoreName::Label, selector: "tier=edge".parse().unwrap(), weight: 2 };
    let policy = Placement { score: vec![cpu, edge], number_of_clusters: Some(1), ..everywhere() };
    let decision = decide(&policy, &clusters, &[], &[]);
    assert_eq!(chosen(&decision), ["c"]);
    let step = decision.verdicts[0].steps.iter().find(|step| step.step == Step::Score).unwrap();
    assert_eq!(step.asked, "allocatableCpu × 3, label tier=edge × 2");
    assert_eq!(step.seen, "70 of 100: allocatableCpu 50, label tier=edge 100");
    let against = Score { name: ScoreName::AllocatableCpu, weight: -1, ..Score::default() };
    let policy = Placement { score: vec![against], ..policy };
    assert_eq!(chosen(&decide(&policy, &clusters, &[], &[])), ["a"]);
}

#[test]
fn a_spread_takes_from_every_region_in_turn_and_says_what_it_kept_out() {
    let clusters = regions(&[("eu", 4), ("us", 1)]);
    assert_eq!(chosen(&decide(&spread_over("region", Some(2)), &clusters, &[], &[])), ["eu-1", "us-1"]);
    let decision = decide(&spread_over("region", None), &clusters, &[], &[]);
    assert_eq!(chosen(&decision), ["eu-1", "eu-2", "us-1"]);
    assert_eq!(
        told(&decision, "eu-4"),
        "no region with more than 1 above the fewest | region=eu has 2, us has 1 | allow a skew of 3 over region, or add clusters to us"
    );
    let anyway = Spread { when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway, ..spread("region") };
    let policy = Placement { spread: vec![anyway], ..everywhere() };
    assert_eq!(decide(&policy, &clusters, &[], &[]).chosen().count(), 5);
}

#[test]
fn a_strict_spread_keeps_out_who_has_no_value() {
    let mut clusters = regions(&[("eu", 1), ("us", 1)]);
    clusters.push(cluster("nowhere", &[]));
    let decision = decide(&spread_over("region", None), &clusters, &[], &[]);
    assert_eq!(refusal(&decision, "nowhere").seen, "no region");
    assert!(refusal(&decision, "nowhere").remedy.starts_with("label it with its region"));
}

#[test]
fn clusters_that_have_the_workload_stay_unless_the_policy_says_otherwise() {
    let clusters = regions(&[("eu", 3), ("us", 3)]);
    let current: Vec<ClusterId> = clusters[..3].iter().map(|cluster| cluster.id).collect();
    let three = spread_over("region", Some(3));
    assert_eq!(chosen(&decide(&three, &clusters, &[], &current)), ["eu-1", "eu-2", "eu-3"]);
    let moving = Placement { sticky: false, ..three };
    assert_eq!(chosen(&decide(&moving, &clusters, &[], &current)), ["eu-1", "eu-2", "us-1"]);
}

fn said(policy: &Placement, clusters: &[Cluster], current: &[ClusterId]) -> Vec<(String, Severity, String)> {
    let decision = decide(policy, clusters, &[], current);
    let told = |finding: crate::Finding| (finding.path, finding.severity, finding.message);
    outlook(policy, &decision, clusters).into_iter().map(told).collect()
}

#[test]
fn g503_too_few_regions_are_told_with_their_names() {
    let clusters = regions(&[("eu-central", 2), ("eu-west", 3)]);
    let three = Spread { min_groups: Some(3), ..spread("region") };
    let policy = Placement { spread: vec![three], ..everywhere() };
    let expected = "You ask for 3 values of region; the 5 matching clusters have 2 (eu-central and eu-west).";
    assert_eq!(
        said(&policy, &clusters, &[]),
        [("/placement/spread/0".into(), Severity::Error, expected.into())]
    );
}

#[test]
fn g503_a_spread_that_changes_nothing_and_a_skew_that_is_there_already_are_told() {
    let one = regions(&[("eu", 2)]);
    let message = &said(&spread_over("region", None), &one, &[])[0].2;
    assert_eq!(message, "The spread over region changes nothing: every matching cluster is in eu.");
    let two = regions(&[("eu", 3), ("us", 1)]);
    let current: Vec<ClusterId> = two[..3].iter().map(|cluster| cluster.id).collect();
    let findings = said(&spread_over("region", Some(3)), &two, &current);
    assert_eq!(
        findings[0].2,
        "The skew over region is 3, and 1 is asked for: eu has 3 clusters and us has 0."
    );
    assert!(said(&spread_over("region", None), &regions(&[("eu", 2), ("us", 2)]), &[]).is_empty());
}

#[test]
fn g504_fewer_than_asked_for_is_a_warning_and_fewer_than_the_minimum_an_error() {
    let clusters = regions(&[("eu", 3), ("us", 1)]);
    let five = Placement { number_of_clusters: Some(5), ..everywhere() };
    let message = "5 clusters are asked for and 4 match. It runs on those, and grows when more join.";
    assert_eq!(
        said(&five, &clusters, &[]),
        [("/placement/numberOfClusters".into(), Severity::Warning, message.into())]
    );
    let spread = spread_over("region", Some(4));
    let message = "4 clusters are asked for and 4 match; the spread lets 3 be chosen.";
    assert_eq!(said(&spread, &clusters, &[])[0].2, message);
    let least = Placement { min_clusters: Some(5), ..everywhere() };
    let message = "At least 5 clusters are asked for, and 4 would be chosen.";
    assert_eq!(
        said(&least, &clusters, &[]),
        [("/placement/minClusters".into(), Severity::Error, message.into())]
    );
}

#[test]
fn g502_scores_spreads_and_facts_that_cannot_be_meant_are_refused() {
    let bad = Placement {
        score: vec![
            Score { weight: 11, ..Score::default() },
            Score { name: ScoreName::Label, weight: 1, ..Score::default() },
            Score { selector: "a=b".parse().unwrap(), weight: 1, ..Score::default() },
        ],
        spread: vec![Spread { max_skew: 0, ..spread("region") }, spread("region"), spread("not a key")],
        min_clusters: Some(3),
        number_of_clusters: Some(2),
        ..facts("provider=aws,provider=gce")
    };
    let findings = check(&bad);
    let paths: Vec<&str> = findings.iter().map(|finding| finding.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/placement/predicates/0/fieldSelector",
            "/placement/score/0/weight",
            "/placement/score/1/selector",
            "/placement/score/2/selector",
            "/placement/spread/0/maxSkew",
            "/placement/spread/1/key",
            "/placement/spread/2/key",
            "/placement/minClusters",
        ]
    );
    assert!(findings.iter().all(|finding| finding.code == "G502"));
    let contradictory = |text: &str| text.parse::<FactSelector>().unwrap().is_contradictory();
    assert!(contradictory("kubernetesVersion>=1.34,kubernetesVersion<1.33"));
    assert!(!contradictory("kubernetesVersion>=1.33,kubernetesVersion<1.34"));
    assert!(!contradictory("zone=a,zone=b"));
}

#[test]
fn a_placement_written_before_these_parts_reads_as_it_did_and_writes_as_it_was() {
    let text = r#"{"predicates":[{"labelSelector":"env=prod"}],"newMembers":"manual"}"#;
    let read: Placement = serde_json::from_str(text).unwrap();
    assert!(read.sticky);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}
