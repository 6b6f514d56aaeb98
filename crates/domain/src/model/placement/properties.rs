//! Property tests of placement, on random fleets.

use proptest::prelude::*;

use super::predicate::PreparedPlacement;
use super::tests::{cluster, label_predicate};
use super::*;
use crate::kubernetes::quantity::Quantity;
use crate::model::cluster::{ClusterFacts, ConfirmedFacts, Connectivity, NodePool, Taint};

const KEYS: [&str; 3] = ["env", "region", "zone"];
const VALUES: [&str; 3] = ["a", "b", "c"];
const EFFECTS: [TaintEffect; 3] =
    [TaintEffect::NoSelect, TaintEffect::PreferNoSelect, TaintEffect::NoSelectIfNew];

fn any_taint() -> impl Strategy<Value = Taint> {
    (0..2_usize, 0..3_usize).prop_map(|(key, effect)| Taint {
        key: KEYS[key].into(),
        value: String::new(),
        effect: EFFECTS[effect],
    })
}

fn any_cluster(n: usize) -> impl Strategy<Value = Cluster> {
    let labels = prop::collection::btree_map(0..3_usize, 0..3_usize, 0..3);
    let reach = prop::sample::select(vec![Connectivity::Online, Connectivity::Late, Connectivity::Offline]);
    let facts = (0..3_usize, 0..4_usize, prop::collection::btree_set(0..3_usize, 0..2), 0..9_u32).prop_map(
        |(provider, version, zones, cores)| ClusterFacts {
            provider: ["", "aws", "gce"][provider].into(),
            kubernetes_version: ["", "v1.32.1", "v1.33.4+k3s1", "v1.34.0"][version].into(),
            zones: zones.into_iter().map(|zone| VALUES[zone].to_owned()).collect(),
            node_pools: vec![NodePool { cpu: Quantity::from_units(cores), ..NodePool::default() }],
            ..ClusterFacts::default()
        },
    );
    (
        labels,
        prop::collection::vec(any_taint(), 0..2),
        prop::bool::weighted(0.8),
        reach,
        (facts, prop::bool::weighted(0.8)),
    )
        .prop_map(move |(labels, taints, schedulable, reach, (facts, is_confirmed))| {
            let confirmed_facts =
                if is_confirmed { ConfirmedFacts::from_reported(&facts) } else { ConfirmedFacts::default() };
            let labels: Vec<(&str, &str)> = labels.iter().map(|(k, v)| (KEYS[*k], VALUES[*v])).collect();
            Cluster {
                taints,
                schedulable,
                connectivity: reach,
                facts,
                confirmed_facts,
                ..cluster(&format!("c-{n}"), &labels)
            }
        })
}

fn any_fleet() -> impl Strategy<Value = Vec<Cluster>> {
    (1..8_usize).prop_flat_map(|n| (0..n).map(any_cluster).collect::<Vec<_>>())
}

fn any_term() -> impl Strategy<Value = String> {
    (0..3_usize, 0..3_usize, 0..6_usize).prop_map(|(key, value, form)| {
        let (key, value) = (KEYS[key], VALUES[value]);
        match form {
            0 => format!("{key}={value}"),
            1 => format!("{key}!={value}"),
            2 => format!("{key} in (a,{value})"),
            3 => format!("{key} notin (b,{value})"),
            4 => key.to_owned(),
            _ => format!("!{key}"),
        }
    })
}

fn any_predicate() -> impl Strategy<Value = Predicate> {
    let names = prop::collection::vec((0..8_usize).prop_map(|n| format!("c-{n}")), 0..2);
    let groups = prop::collection::vec(prop::sample::select(vec!["east".to_owned(), "west".into()]), 0..2);
    let facts = prop::collection::vec(any_fact_term(), 0..2);
    (names, groups, prop::collection::vec(any_term(), 0..3), facts).prop_map(
        |(names, groups, terms, facts)| Predicate {
            names,
            groups,
            field_selector: facts.join(",").parse().unwrap(),
            ..label_predicate(&terms.join(","))
        },
    )
}

fn any_placement() -> impl Strategy<Value = Placement> {
    let tolerations = prop::collection::vec(any_taint(), 0..2).prop_map(|taints| {
        let tolerate = |taint: Taint| Toleration { key: taint.key, ..Toleration::default() };
        taints.into_iter().map(tolerate).collect()
    });
    let exclude = prop::collection::vec((0..8_usize).prop_map(|n| format!("c-{n}")), 0..2);
    (prop::collection::vec(any_predicate(), 0..3), exclude, tolerations, prop::option::of(0..5_u32)).prop_map(
        |(predicates, exclude, tolerations, number_of_clusters)| Placement {
            predicates,
            exclude,
            tolerations,
            number_of_clusters,
            ..Placement::default()
        },
    )
}

fn any_fact_term() -> impl Strategy<Value = String> {
    let terms = [
        "provider=aws",
        "provider!=gce",
        "provider in (aws,gce)",
        "!provider",
        "provider",
        "zone=a",
        "zone notin (a,b)",
        "region=b",
        "kubernetesVersion>=1.33",
        "kubernetesVersion<1.33",
        "kubernetesVersion=1.33",
        "kubernetesVersion>1.33.4",
    ];
    prop::sample::select(terms.map(str::to_owned).to_vec())
}

fn any_spread() -> impl Strategy<Value = Spread> {
    (0..3_usize, 1..3_u32, prop::bool::ANY).prop_map(|(key, max_skew, strict)| Spread {
        key: KEYS[key].into(),
        max_skew,
        when_unsatisfiable: if strict {
            WhenUnsatisfiable::DoNotSchedule
        } else {
            WhenUnsatisfiable::ScheduleAnyway
        },
        min_groups: None,
    })
}

fn any_score() -> impl Strategy<Value = Score> {
    (0..4_usize, -10..=10_i32).prop_map(|(name, weight)| {
        let name = ScoreName::ALL[name];
        let selector = if name == ScoreName::Label { "env=a".parse().unwrap() } else { Default::default() };
        Score { name, selector, weight }
    })
}

/// A policy that selects among the matching clusters: scores, spreads, a number.
fn any_choice() -> impl Strategy<Value = Placement> {
    let spread = prop::collection::vec(any_spread(), 0..3);
    let score = prop::collection::vec(any_score(), 0..3);
    (any_placement(), spread, score, prop::bool::weighted(0.7))
        .prop_map(|(placement, spread, score, sticky)| Placement { spread, score, sticky, ..placement })
}

/// The skew of the selected clusters, over the values that candidates have.
fn skew(spread: &Spread, decision: &Decision, fleet: &[Cluster]) -> u32 {
    let cluster = |evaluation: &ClusterEvaluation| {
        fleet.iter().find(|cluster| cluster.id == evaluation.cluster).unwrap()
    };
    let is_candidate = |evaluation: &&ClusterEvaluation| {
        evaluation.filters.iter().any(|step| step.filter == PlacementFilter::Spread)
    };
    let mut counts: std::collections::BTreeMap<String, u32> = decision
        .evaluations
        .iter()
        .filter(is_candidate)
        .filter_map(|evaluation| Some((spread.value(cluster(evaluation))?, 0)))
        .collect();
    for evaluation in decision.selected() {
        if let Some(count) = spread.value(cluster(evaluation)).and_then(|value| counts.get_mut(&value)) {
            *count += 1;
        }
    }
    counts.values().max().copied().unwrap_or(0) - counts.values().min().copied().unwrap_or(0)
}

fn groups() -> Vec<ClusterGroup> {
    vec![
        ClusterGroup {
            name: "east".into(),
            members: vec!["c-1".into(), "c-2".into()],
            ..ClusterGroup::default()
        },
        ClusterGroup {
            name: "west".into(),
            members: vec![],
            selector: "region=b".parse().ok(),
            ..ClusterGroup::default()
        },
    ]
}

fn ids<'a>(evaluations: impl Iterator<Item = &'a ClusterEvaluation>) -> Vec<ClusterId> {
    evaluations.map(|evaluation| evaluation.cluster).collect()
}

/// Applies a remedy to the cluster, the groups or the predicate.
fn apply_remedy(
    change: &RequiredChange,
    cluster: &mut Cluster,
    groups: &mut Vec<ClusterGroup>,
    predicate: &mut Predicate,
) {
    let set = |cluster: &mut Cluster, key: &str, value: &str| {
        cluster.labels.insert(key.to_owned(), value.to_owned());
    };
    match change {
        RequiredChange::SetLabel { key, value, .. } => set(cluster, key, value),
        RequiredChange::SetOtherValue { key, except: but } => {
            assert!(!but.contains(&"other".to_owned()));
            set(cluster, key, "other");
        }
        RequiredChange::ChangeOrRemoveLabel { key, .. } => set(cluster, key, "other"),
        RequiredChange::RemoveLabel { key } => {
            cluster.labels.remove(key);
        }
        RequiredChange::JoinGroup { group } => {
            let group = groups.iter_mut().find(|known| known.name == *group).unwrap();
            group.members.push(cluster.name.clone());
        }
        RequiredChange::CreateGroup { group } => groups.push(ClusterGroup {
            name: group.clone(),
            members: vec![cluster.name.clone()],
            ..ClusterGroup::default()
        }),
        RequiredChange::AddName { cluster } => predicate.names.push(cluster.clone()),
        RequiredChange::RemoveFactTerms { terms } => {
            predicate.field_selector.terms.retain(|term| !terms.terms.contains(term))
        }
        RequiredChange::Upgrade { version } => {
            cluster.confirmed_facts.kubernetes_version = format!("v{version}.0")
        }
        RequiredChange::ConfirmFact { fact, .. } => {
            let reported = ConfirmedFacts::from_reported(&cluster.facts);
            match fact {
                FactKey::Provider => cluster.confirmed_facts.provider = reported.provider,
                FactKey::Region => cluster.confirmed_facts.region = reported.region,
                FactKey::Zone => cluster.confirmed_facts.zones = reported.zones,
                FactKey::Distribution | FactKey::KubernetesVersion => {
                    cluster.confirmed_facts.kubernetes_version = reported.kubernetes_version
                }
            }
        }
    }
}

proptest! {
    #[test]
    fn e_3_a_decision_does_not_depend_on_the_order_of_its_input(
        placement in any_choice(), fleet in any_fleet(), rotation in 0..8_usize, current in 0..256_u32,
    ) {
        let current: Vec<ClusterId> =
            fleet.iter().enumerate().filter(|(n, _)| current >> n & 1 == 1).map(|(_, c)| c.id).collect();
        let decision = decide(&placement, &fleet, &groups(), &current);
        let mut reordered = fleet.clone();
        reordered.rotate_left(rotation % fleet.len());
        reordered.reverse();
        let mut groups = groups();
        groups.reverse();
        let current: Vec<ClusterId> = current.into_iter().rev().collect();
        prop_assert_eq!(decide(&placement, &reordered, &groups, &current), decision);
    }

    #[test]
    fn every_cluster_has_one_evaluation_that_its_filter_results_explain(
        placement in any_choice(), fleet in any_fleet(),
    ) {
        let decision = decide(&placement, &fleet, &groups(), &[]);
        let mut all = ids(decision.evaluations.iter());
        let mut expected: Vec<ClusterId> = fleet.iter().map(|c| c.id).collect();
        all.sort();
        expected.sort();
        prop_assert_eq!(all, expected);
        for evaluation in &decision.evaluations {
            prop_assert_eq!(evaluation.selected, evaluation.failed_filter().is_none());
            let (last, before) = evaluation.filters.split_last().unwrap();
            prop_assert!(before.iter().all(|step| step.passed));
            prop_assert_eq!(last.passed, last.remedy.is_none());
            let has_words = |step: &FilterResult| {
                !step.expected.to_string().is_empty() && !step.actual.to_string().is_empty()
            };
            prop_assert!(evaluation.filters.iter().all(has_words));
        }
        if let Some(number) = placement.number_of_clusters {
            prop_assert!(decision.selected().count() <= number as usize);
        }
        let rejected = decision.evaluations.iter().map(|evaluation| !evaluation.selected);
        prop_assert!(rejected.is_sorted());
    }

    #[test]
    fn a_repeated_decision_removes_no_selected_cluster_even_if_a_cluster_joins(
        placement in any_choice(), fleet in any_fleet(), joining in any_cluster(9),
    ) {
        let placement = Placement { sticky: true, ..placement };
        let before = ids(decide(&placement, &fleet, &groups(), &[]).selected());
        let again = ids(decide(&placement, &fleet, &groups(), &before).selected());
        prop_assert_eq!(&again, &before);
        let mut fleet = fleet;
        fleet.insert(0, joining);
        let after = ids(decide(&placement, &fleet, &groups(), &before).selected());
        prop_assert!(before.iter().all(|id| after.contains(id)), "{:?} lost some of {:?}", after, before);
    }

    #[test]
    fn e_3_applying_the_remedy_of_a_predicate_makes_it_match(predicate in any_predicate(), cluster in any_cluster(5)) {
        let (mut groups, mut predicate, mut cluster) = (groups(), predicate, cluster);
        let policy = Placement { predicates: vec![predicate.clone()], ..Placement::default() };
        if let Some(changes) = PreparedPlacement::new(&policy, &groups.clone()).needed_changes(0, &cluster) {
            for change in &changes {
                apply_remedy(change, &mut cluster, &mut groups, &mut predicate);
            }
            let placement = Placement { predicates: vec![predicate], ..Placement::default() };
            let decision = decide(&placement, std::slice::from_ref(&cluster), &groups, &[]);
            prop_assert!(decision.evaluations[0].filters[0].passed, "{:?} after {:?}", decision, changes);
        }
    }

    #[test]
    fn e_3_a_predicate_without_a_remedy_matches_no_labels_at_all(
        terms in prop::collection::vec(any_term(), 1..4),
    ) {
        let predicate = label_predicate(&terms.join(","));
        let policy = Placement { predicates: vec![predicate.clone()], ..Placement::default() };
        let is_unsatisfiable = PreparedPlacement::new(&policy, &[]).needed_changes(0, &cluster("c-1", &[])).is_none();
        let mut any_match = false;
        for combination in 0..5_u32.pow(3) {
            let value = |key: usize| combination / 5_u32.pow(key as u32) % 5;
            let labels: Vec<(&str, &str)> = (0..3)
                .filter(|key| value(*key) < 4)
                .map(|key| (KEYS[key], ["a", "b", "c", "other"][value(key) as usize]))
                .collect();
            any_match |= predicate.label_selector.matches(&cluster("x", &labels).labels);
        }
        prop_assert_eq!(is_unsatisfiable, !any_match);
    }

    #[test]
    fn e_3_applying_the_remedy_of_the_number_selects_the_cluster(fleet in any_fleet(), number in 0..5_u32) {
        let mut placement = Placement {
            predicates: vec![Predicate::default()],
            number_of_clusters: Some(number),
            ..Placement::default()
        };
        let decision = decide(&placement, &fleet, &[], &[]);
        for evaluation in decision.rejected() {
            let rejection = evaluation.failed_filter().unwrap();
            if let Some(Remedy::RaiseNumber { to }) = rejection.remedy {
                placement.number_of_clusters = Some(to);
                let again = decide(&placement, &fleet, &[], &[]);
                prop_assert!(again.selected().any(|selected| selected.cluster == evaluation.cluster));
            }
        }
    }

    #[test]
    fn g503_a_first_decision_never_exceeds_a_strict_spread(
        placement in any_choice(), fleet in any_fleet(),
    ) {
        let decision = decide(&placement, &fleet, &groups(), &[]);
        for spread in placement.spread.iter().filter(|spread| spread.is_strict()) {
            prop_assert!(skew(spread, &decision, &fleet) <= spread.max_skew, "{:?}", decision);
        }
        for evaluation in decision.selected() {
            let cluster = fleet.iter().find(|cluster| cluster.id == evaluation.cluster).unwrap();
            for spread in placement.spread.iter().filter(|spread| spread.is_strict()) {
                prop_assert!(spread.value(cluster).is_some());
            }
        }
    }

    #[test]
    fn clusters_selected_with_spreads_and_scores_are_selected_without_them_and_without_a_number(
        placement in any_choice(), fleet in any_fleet(),
    ) {
        let plain = Placement {
            spread: Vec::new(), score: Vec::new(), number_of_clusters: None, ..placement.clone()
        };
        let matching = ids(decide(&plain, &fleet, &groups(), &[]).selected());
        let selected = ids(decide(&placement, &fleet, &groups(), &[]).selected());
        prop_assert!(selected.iter().all(|id| matching.contains(id)));
        // Spreads that do not reject and scores only change the order, not the number of selected clusters.
        if placement.spread.iter().all(|spread| !spread.is_strict()) {
            let number = placement.number_of_clusters.map_or(usize::MAX, |number| number as usize);
            prop_assert_eq!(selected.len(), matching.len().min(number));
        }
    }

    #[test]
    fn requesting_one_more_cluster_adds_at_most_one_and_removes_none(placement in any_choice(), fleet in any_fleet(), n in 0..6_u32) {
        let with = |n| {
            let policy = Placement { number_of_clusters: Some(n), ..placement.clone() };
            ids(decide(&policy, &fleet, &groups(), &[]).selected())
        };
        let (fewer, more) = (with(n), with(n + 1));
        prop_assert!(fewer.iter().all(|id| more.contains(id)));
        prop_assert!(more.len() <= fewer.len() + 1);
    }

    #[test]
    fn e_3_applying_the_remedy_of_a_spread_selects_the_cluster(fleet in any_fleet(), spread in any_spread()) {
        let mut placement =
            Placement { predicates: vec![Predicate::default()], spread: vec![spread], ..Placement::default() };
        let decision = decide(&placement, &fleet, &[], &[]);
        for evaluation in decision.rejected() {
            let rejection = evaluation.failed_filter().unwrap();
            if let Some(Remedy::AllowSkew { skew, .. }) = rejection.remedy {
                placement.spread[0].max_skew = skew;
                let again = decide(&placement, &fleet, &[], &[]);
                prop_assert!(again.selected().any(|selected| selected.cluster == evaluation.cluster), "{:?}", decision);
            }
        }
    }

    #[test]
    fn a_fact_selector_is_unchanged_after_display_and_parse(terms in prop::collection::vec(any_fact_term(), 0..4)) {
        let selector: FactSelector = terms.join(",").parse().unwrap();
        prop_assert_eq!(selector.to_string().parse::<FactSelector>().unwrap(), selector);
    }

    #[test]
    fn g502_a_fact_selector_that_some_cluster_matches_is_not_contradictory(
        terms in prop::collection::vec(any_fact_term(), 0..4), cluster in any_cluster(1),
    ) {
        let selector: FactSelector = terms.join(",").parse().unwrap();
        if selector.terms.iter().all(|term| term.matches(&cluster)) {
            prop_assert!(!selector.is_contradictory());
        }
    }
}
