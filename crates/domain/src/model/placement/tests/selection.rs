//! Facts, scores, spreads and minimums by example.

use super::*;
use crate::kubernetes::quantity::Quantity;
use crate::model::cluster::{ClusterFacts, ConfirmedFacts, NodePool};

fn cluster_with_facts(name: &str, provider: &str, version: &str) -> Cluster {
    let facts = ClusterFacts {
        provider: provider.into(),
        kubernetes_version: version.into(),
        zones: vec![format!("{provider}-a"), format!("{provider}-b")],
        ..ClusterFacts::default()
    };
    let confirmed_facts = ConfirmedFacts::from_reported(&facts);
    Cluster { facts, confirmed_facts, ..cluster(name, &[]) }
}

fn placement_by_facts(selector: &str) -> Placement {
    placement(vec![Predicate { field_selector: selector.parse().unwrap(), ..Predicate::default() }])
}

/// As many clusters per region as the numbers.
fn clusters_in_regions(counts: &[(&str, usize)]) -> Vec<Cluster> {
    let clusters = |(region, count): &(&str, usize)| {
        (1..=*count).map(|n| cluster(&format!("{region}-{n}"), &[("region", region)])).collect::<Vec<_>>()
    };
    counts.iter().flat_map(clusters).collect()
}

fn spread(key: &str) -> Spread {
    Spread { key: key.into(), ..Spread::default() }
}

fn spread_over(key: &str, number: Option<u32>) -> Placement {
    Placement { spread: vec![spread(key)], number_of_clusters: number, ..placement_everywhere() }
}

#[test]
fn s0_2_clusters_are_selected_by_facts_that_their_agents_report() {
    let clusters = [
        cluster_with_facts("a", "aws", "v1.33.4"),
        cluster_with_facts("b", "gce", "v1.32.9+k3s1"),
        cluster_with_facts("c", "azure", "v1.34.0"),
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
        ("distribution=k3s", vec!["b"]),
        ("!distribution", vec!["a", "c", "silent"]),
        ("distribution!=eks", vec!["b"]),
        ("zone notin (aws-a,gce-a)", vec!["c"]),
        ("provider in (aws,azure),kubernetesVersion>=1.34", vec!["c"]),
    ] {
        assert_eq!(
            selected_names(&decide(&placement_by_facts(selector), &clusters, &[], &[])),
            expected,
            "{selector}"
        );
    }
}

#[test]
fn e_3_a_fact_mismatch_is_reported_with_a_remedy() {
    let clusters = [cluster_with_facts("old", "aws", "v1.30.1"), cluster("silent", &[])];
    let decision = decide(&placement_by_facts("provider=aws,kubernetesVersion>=1.33"), &clusters, &[], &[]);
    assert_eq!(
        describe_failed_filter(&decision, "old"),
        "provider=aws, kubernetesVersion>=1.33 | provider=aws, kubernetesVersion=v1.30.1 | upgrade the cluster to Kubernetes 1.33 or newer"
    );
    assert_eq!(
        describe_failed_filter(&decision, "silent"),
        "provider=aws, kubernetesVersion>=1.33 | provider unknown, kubernetesVersion unknown | \
         remove provider=aws from the placement and remove kubernetesVersion>=1.33 from the placement"
    );
}

#[test]
fn g502_the_error_of_an_invalid_fact_selector_contains_the_reason() {
    for (bad, why) in [
        ("cloud=aws", "is not a fact; use provider, region, zone, distribution or kubernetesVersion"),
        ("distribution>=k3s", "can't be compared"),
        ("region>=eu", "can't be compared"),
        ("kubernetesVersion>=new", "is not a version"),
        ("provider=a b", "not a label value"),
        (
            "distribution=openshift",
            r#""openshift" is not a distribution that a version names; use gke, eks, k3s, rke2 or k0s"#,
        ),
        ("distribution!=EKS", r#""EKS" is not a distribution"#),
        ("distribution in (k3s,aks)", r#""aks" is not a distribution"#),
    ] {
        let error = bad.parse::<FactSelector>().unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn scores_rank_the_candidates_and_their_parts_are_recorded() {
    let big = |name: &str, cores: u32, labels: &[(&str, &str)]| {
        let pool = NodePool { cpu: Quantity::from_units(cores), ..NodePool::default() };
        let facts = ClusterFacts { node_pools: vec![pool], ..ClusterFacts::default() };
        let confirmed_facts = ConfirmedFacts::from_reported(&facts);
        Cluster { facts, confirmed_facts, ..cluster(name, labels) }
    };
    let clusters = [big("a", 4, &[]), big("b", 16, &[]), big("c", 8, &[("tier", "edge")])];
    let cpu = Score { name: ScoreName::AllocatableCpu, weight: 3, ..Score::default() };
    let edge = Score { name: ScoreName::Label, selector: "tier=edge".parse().unwrap(), weight: 2 };
    let policy = Placement { score: vec![cpu, edge], number_of_clusters: Some(1), ..placement_everywhere() };
    let decision = decide(&policy, &clusters, &[], &[]);
    assert_eq!(selected_names(&decision), ["c"]);
    let step =
        decision.evaluations[0].filters.iter().find(|step| step.filter == PlacementFilter::Score).unwrap();
    assert_eq!(step.expected.to_string(), "allocatableCpu × 3, label tier=edge × 2");
    assert_eq!(step.actual.to_string(), "70 of 100: allocatableCpu 50, label tier=edge 100");
    let against = Score { name: ScoreName::AllocatableCpu, weight: -1, ..Score::default() };
    let policy = Placement { score: vec![against], ..policy };
    assert_eq!(selected_names(&decide(&policy, &clusters, &[], &[])), ["a"]);
}

#[test]
fn a_spread_selects_from_every_region_in_turn_and_reports_rejected_clusters() {
    let clusters = clusters_in_regions(&[("eu", 4), ("us", 1)]);
    assert_eq!(
        selected_names(&decide(&spread_over("region", Some(2)), &clusters, &[], &[])),
        ["eu-1", "us-1"]
    );
    let decision = decide(&spread_over("region", None), &clusters, &[], &[]);
    assert_eq!(selected_names(&decision), ["eu-1", "eu-2", "us-1"]);
    assert_eq!(
        describe_failed_filter(&decision, "eu-4"),
        "at most 1 more per region than the region with fewest | region=eu has 2, us has 1 | allow a skew of 3 over region, or add clusters to us"
    );
    let anyway = Spread { when_unsatisfiable: WhenUnsatisfiable::ScheduleAnyway, ..spread("region") };
    let policy = Placement { spread: vec![anyway], ..placement_everywhere() };
    assert_eq!(decide(&policy, &clusters, &[], &[]).selected().count(), 5);
}

#[test]
fn a_strict_spread_rejects_clusters_without_a_value() {
    let mut clusters = clusters_in_regions(&[("eu", 1), ("us", 1)]);
    clusters.push(cluster("nowhere", &[]));
    let decision = decide(&spread_over("region", None), &clusters, &[], &[]);
    let rejection = failed_filter(&decision, "nowhere");
    assert_eq!(rejection.actual.to_string(), "no region");
    assert_eq!(rejection.remedy, Some(Remedy::AddSpreadLabel { key: "region".into() }));
}

#[test]
fn clusters_that_run_the_workload_stay_selected_unless_the_policy_is_not_sticky() {
    let clusters = clusters_in_regions(&[("eu", 3), ("us", 3)]);
    let current: Vec<ClusterId> = clusters[..3].iter().map(|cluster| cluster.id).collect();
    let three = spread_over("region", Some(3));
    assert_eq!(selected_names(&decide(&three, &clusters, &[], &current)), ["eu-1", "eu-2", "eu-3"]);
    let moving = Placement { sticky: false, ..three };
    assert_eq!(selected_names(&decide(&moving, &clusters, &[], &current)), ["eu-1", "eu-2", "us-1"]);
}

fn decision_findings(
    policy: &Placement,
    clusters: &[Cluster],
    current: &[ClusterId],
) -> Vec<(String, Severity, String)> {
    let decision = decide(policy, clusters, &[], current);
    let parts = |finding: crate::text::finding::Finding| (finding.path, finding.severity, finding.message);
    check_decision(policy, &decision, clusters).into_iter().map(parts).collect()
}

#[test]
fn g503_too_few_regions_are_reported_with_their_names() {
    let clusters = clusters_in_regions(&[("eu-central", 2), ("eu-west", 3)]);
    let three = Spread { min_groups: Some(3), ..spread("region") };
    let policy = Placement { spread: vec![three], ..placement_everywhere() };
    let expected =
        "The placement requires 3 values of region; the 5 matching clusters have 2 (eu-central and eu-west).";
    assert_eq!(
        decision_findings(&policy, &clusters, &[]),
        [("/placement/spread/0".into(), Severity::Error, expected.into())]
    );
}

#[test]
fn g503_a_spread_without_effect_and_an_existing_skew_are_reported() {
    let one = clusters_in_regions(&[("eu", 2)]);
    let message = &decision_findings(&spread_over("region", None), &one, &[])[0].2;
    assert_eq!(message, "The spread over region has no effect: every matching cluster is in eu.");
    let two = clusters_in_regions(&[("eu", 3), ("us", 1)]);
    let current: Vec<ClusterId> = two[..3].iter().map(|cluster| cluster.id).collect();
    let findings = decision_findings(&spread_over("region", Some(3)), &two, &current);
    assert_eq!(
        findings[0].2,
        "The skew over region is 3, and at most 1 is allowed: eu has 3 clusters and us has 0."
    );
    assert!(
        decision_findings(&spread_over("region", None), &clusters_in_regions(&[("eu", 2), ("us", 2)]), &[])
            .is_empty()
    );
}

#[test]
fn g504_fewer_than_requested_is_a_warning_and_fewer_than_the_minimum_an_error() {
    let clusters = clusters_in_regions(&[("eu", 3), ("us", 1)]);
    let five = Placement { number_of_clusters: Some(5), ..placement_everywhere() };
    let message =
        "The placement requests 5 clusters and 4 match. The workload runs on those until more match.";
    assert_eq!(
        decision_findings(&five, &clusters, &[]),
        [("/placement/numberOfClusters".into(), Severity::Warning, message.into())]
    );
    let spread = spread_over("region", Some(4));
    let message = "The placement requests 4 clusters and 4 match; the spread allows 3.";
    assert_eq!(decision_findings(&spread, &clusters, &[])[0].2, message);
    let minimum = Placement { min_clusters: Some(5), ..placement_everywhere() };
    let message = "The placement requires at least 5 clusters and would select 4.";
    assert_eq!(
        decision_findings(&minimum, &clusters, &[]),
        [("/placement/minClusters".into(), Severity::Error, message.into())]
    );
}

#[test]
fn g502_scores_spreads_and_facts_without_a_meaning_are_reported() {
    let bad = Placement {
        score: vec![
            Score { weight: 11, ..Score::default() },
            Score { name: ScoreName::Label, weight: 1, ..Score::default() },
            Score { selector: "a=b".parse().unwrap(), weight: 1, ..Score::default() },
        ],
        spread: vec![Spread { max_skew: 0, ..spread("region") }, spread("region"), spread("not a key")],
        min_clusters: Some(3),
        number_of_clusters: Some(2),
        ..placement_by_facts("provider=aws,provider=gce")
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
    assert!(contradictory("distribution=k3s,distribution=eks"));
    assert!(!contradictory("distribution!=k3s,distribution!=eks"));
}

#[test]
fn a_placement_stored_before_these_fields_existed_is_read_and_written_unchanged() {
    let text = r#"{"predicates":[{"labelSelector":"env=prod"}],"newMembers":"manual"}"#;
    let read: Placement = serde_json::from_str(text).unwrap();
    assert!(read.sticky);
    assert_eq!(serde_json::to_string(&read).unwrap(), text);
}
