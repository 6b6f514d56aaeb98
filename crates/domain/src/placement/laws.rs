//! Laws of placement, on fleets made at random.

use proptest::prelude::*;

use super::predicate::Asked;
use super::remedy::Change;
use super::tests::{cluster, labelled};
use super::*;
use crate::cluster::{ClusterFacts, NodePool, Reach, Taint};
use crate::quantity::Quantity;

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
    let reach = prop::sample::select(vec![Reach::Online, Reach::Late, Reach::Offline]);
    let facts = (0..3_usize, 0..4_usize, prop::collection::btree_set(0..3_usize, 0..2), 0..9_u32).prop_map(
        |(provider, version, zones, cores)| ClusterFacts {
            provider: ["", "aws", "gce"][provider].into(),
            kubernetes_version: ["", "v1.32.1", "v1.33.4+k3s1", "v1.34.0"][version].into(),
            zones: zones.into_iter().map(|zone| VALUES[zone].to_owned()).collect(),
            node_pools: vec![NodePool { cpu: Quantity::whole(cores), ..NodePool::default() }],
            ..ClusterFacts::default()
        },
    );
    (labels, prop::collection::vec(any_taint(), 0..2), prop::bool::weighted(0.8), reach, facts).prop_map(
        move |(labels, taints, schedulable, reach, facts)| {
            let labels: Vec<(&str, &str)> = labels.iter().map(|(k, v)| (KEYS[*k], VALUES[*v])).collect();
            Cluster { taints, schedulable, reach, facts, ..cluster(&format!("c-{n}"), &labels) }
        },
    )
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
            ..labelled(&terms.join(","))
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

/// A policy that chooses among what matches: scores, spreads, a number.
fn any_choice() -> impl Strategy<Value = Placement> {
    let spread = prop::collection::vec(any_spread(), 0..3);
    let score = prop::collection::vec(any_score(), 0..3);
    (any_placement(), spread, score, prop::bool::weighted(0.7))
        .prop_map(|(placement, spread, score, sticky)| Placement { spread, score, sticky, ..placement })
}

/// By how much the value with most clusters is above the value with fewest, over the values that candidates have.
fn skew(spread: &Spread, decision: &Decision, fleet: &[Cluster]) -> u32 {
    let of = |verdict: &Verdict| fleet.iter().find(|cluster| cluster.id == verdict.cluster).unwrap();
    let tried = |verdict: &&Verdict| verdict.steps.iter().any(|step| step.step == Step::Spread);
    let mut counts: std::collections::BTreeMap<String, u32> = decision
        .verdicts
        .iter()
        .filter(tried)
        .filter_map(|verdict| Some((spread.value(of(verdict))?, 0)))
        .collect();
    for verdict in decision.chosen() {
        if let Some(count) = spread.value(of(verdict)).and_then(|value| counts.get_mut(&value)) {
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

fn ids<'a>(verdicts: impl Iterator<Item = &'a Verdict>) -> Vec<ClusterId> {
    verdicts.map(|verdict| verdict.cluster).collect()
}

/// Does to the cluster, the groups or the predicate what a remedy says.
fn carry_out(
    change: &Change,
    cluster: &mut Cluster,
    groups: &mut Vec<ClusterGroup>,
    predicate: &mut Predicate,
) {
    let set = |cluster: &mut Cluster, key: &str, value: &str| {
        cluster.labels.insert(key.to_owned(), value.to_owned());
    };
    match change {
        Change::SetLabel { key, value, .. } => set(cluster, key, value),
        Change::SetOther { key, but } => {
            assert!(!but.contains(&"other".to_owned()));
            set(cluster, key, "other");
        }
        Change::Avoid { key, .. } => set(cluster, key, "other"),
        Change::RemoveLabel { key } => {
            cluster.labels.remove(key);
        }
        Change::JoinGroup { group } => {
            let group = groups.iter_mut().find(|known| known.name == *group).unwrap();
            group.members.push(cluster.name.clone());
        }
        Change::MakeGroup { group } => groups.push(ClusterGroup {
            name: group.clone(),
            members: vec![cluster.name.clone()],
            ..ClusterGroup::default()
        }),
        Change::AddName { cluster } => predicate.names.push(cluster.clone()),
        Change::DropFact { terms } => predicate.field_selector.terms.retain(|term| !terms.contains(term)),
        Change::Upgrade { version } => cluster.facts.kubernetes_version = format!("v{version}.0"),
    }
}

proptest! {
    #[test]
    fn e_3_a_decision_does_not_depend_on_the_order_of_its_input(
        placement in any_choice(), fleet in any_fleet(), turn in 0..8_usize, current in 0..256_u32,
    ) {
        let current: Vec<ClusterId> =
            fleet.iter().enumerate().filter(|(n, _)| current >> n & 1 == 1).map(|(_, c)| c.id).collect();
        let decision = decide(&placement, &fleet, &groups(), &current);
        let mut turned = fleet.clone();
        turned.rotate_left(turn % fleet.len());
        turned.reverse();
        let mut groups = groups();
        groups.reverse();
        let current: Vec<ClusterId> = current.into_iter().rev().collect();
        prop_assert_eq!(decide(&placement, &turned, &groups, &current), decision);
    }

    #[test]
    fn every_cluster_has_one_verdict_that_its_steps_explain(
        placement in any_choice(), fleet in any_fleet(),
    ) {
        let decision = decide(&placement, &fleet, &groups(), &[]);
        let mut all = ids(decision.verdicts.iter());
        let mut expected: Vec<ClusterId> = fleet.iter().map(|c| c.id).collect();
        all.sort();
        expected.sort();
        prop_assert_eq!(all, expected);
        for verdict in &decision.verdicts {
            prop_assert_eq!(verdict.chosen, verdict.refusal().is_none());
            let (last, before) = verdict.steps.split_last().unwrap();
            prop_assert!(before.iter().all(|step| step.passed));
            prop_assert_eq!(last.passed, last.remedy.is_empty());
            prop_assert!(verdict.steps.iter().all(|step| !step.asked.is_empty() && !step.seen.is_empty()));
        }
        if let Some(number) = placement.number_of_clusters {
            prop_assert!(decision.chosen().count() <= number as usize);
        }
        let chosen_first = decision.verdicts.iter().map(|verdict| !verdict.chosen);
        prop_assert!(chosen_first.is_sorted());
    }

    #[test]
    fn deciding_again_with_what_was_chosen_changes_nothing_even_if_a_cluster_joins(
        placement in any_choice(), fleet in any_fleet(), joins in any_cluster(9),
    ) {
        let placement = Placement { sticky: true, ..placement };
        let before = ids(decide(&placement, &fleet, &groups(), &[]).chosen());
        let again = ids(decide(&placement, &fleet, &groups(), &before).chosen());
        prop_assert_eq!(&again, &before);
        let mut fleet = fleet;
        fleet.insert(0, joins);
        let after = ids(decide(&placement, &fleet, &groups(), &before).chosen());
        prop_assert!(before.iter().all(|id| after.contains(id)), "{:?} lost some of {:?}", after, before);
    }

    #[test]
    fn e_3_the_remedy_of_a_predicate_is_true(predicate in any_predicate(), cluster in any_cluster(5)) {
        let (mut groups, mut predicate, mut cluster) = (groups(), predicate, cluster);
        let policy = Placement { predicates: vec![predicate.clone()], ..Placement::default() };
        if let Some(changes) = Asked::new(&policy, &groups.clone()).missing(0, &cluster) {
            for change in &changes {
                carry_out(change, &mut cluster, &mut groups, &mut predicate);
            }
            let placement = Placement { predicates: vec![predicate], ..Placement::default() };
            let decision = decide(&placement, std::slice::from_ref(&cluster), &groups, &[]);
            prop_assert!(decision.verdicts[0].steps[0].passed, "{:?} after {:?}", decision, changes);
        }
    }

    #[test]
    fn e_3_a_predicate_without_a_remedy_matches_no_labels_at_all(
        terms in prop::collection::vec(any_term(), 1..4),
    ) {
        let predicate = labelled(&terms.join(","));
        let policy = Placement { predicates: vec![predicate.clone()], ..Placement::default() };
        let hopeless = Asked::new(&policy, &[]).missing(0, &cluster("c-1", &[])).is_none();
        let mut any_match = false;
        for combination in 0..5_u32.pow(3) {
            let pick = |key: usize| combination / 5_u32.pow(key as u32) % 5;
            let labels: Vec<(&str, &str)> = (0..3)
                .filter(|key| pick(*key) < 4)
                .map(|key| (KEYS[key], ["a", "b", "c", "other"][pick(key) as usize]))
                .collect();
            any_match |= predicate.label_selector.matches(&cluster("x", &labels).labels);
        }
        prop_assert_eq!(hopeless, !any_match);
    }

    #[test]
    fn e_3_the_remedy_of_the_number_is_true(fleet in any_fleet(), number in 0..5_u32) {
        let mut placement = Placement {
            predicates: vec![Predicate::default()],
            number_of_clusters: Some(number),
            ..Placement::default()
        };
        let decision = decide(&placement, &fleet, &[], &[]);
        for verdict in decision.refused() {
            let refusal = verdict.refusal().unwrap();
            if refusal.step == Step::Number {
                placement.number_of_clusters = refusal.remedy.split(' ').find_map(|word| word.parse().ok());
                let again = decide(&placement, &fleet, &[], &[]);
                prop_assert!(again.chosen().any(|chosen| chosen.cluster == verdict.cluster));
            }
        }
    }

    #[test]
    fn g503_a_strict_spread_is_never_broken_where_nothing_is_there_yet(
        placement in any_choice(), fleet in any_fleet(),
    ) {
        let decision = decide(&placement, &fleet, &groups(), &[]);
        for spread in placement.spread.iter().filter(|spread| spread.is_strict()) {
            prop_assert!(skew(spread, &decision, &fleet) <= spread.max_skew, "{:?}", decision);
        }
        for verdict in decision.chosen() {
            let cluster = fleet.iter().find(|cluster| cluster.id == verdict.cluster).unwrap();
            for spread in placement.spread.iter().filter(|spread| spread.is_strict()) {
                prop_assert!(spread.value(cluster).is_some());
            }
        }
    }

    #[test]
    fn who_is_chosen_with_a_spread_and_scores_is_chosen_without_them_and_without_a_number(
        placement in any_choice(), fleet in any_fleet(),
    ) {
        let plain = Placement {
            spread: Vec::new(), score: Vec::new(), number_of_clusters: None, ..placement.clone()
        };
        let matching = ids(decide(&plain, &fleet, &groups(), &[]).chosen());
        let chosen = ids(decide(&placement, &fleet, &groups(), &[]).chosen());
        prop_assert!(chosen.iter().all(|id| matching.contains(id)));
        // A spread that does not refuse and a score only change the order: as many are chosen as without them.
        if placement.spread.iter().all(|spread| !spread.is_strict()) {
            let number = placement.number_of_clusters.map_or(usize::MAX, |number| number as usize);
            prop_assert_eq!(chosen.len(), matching.len().min(number));
        }
    }

    #[test]
    fn asking_for_one_more_adds_one_and_takes_none(placement in any_choice(), fleet in any_fleet(), n in 0..6_u32) {
        let with = |n| {
            let policy = Placement { number_of_clusters: Some(n), ..placement.clone() };
            ids(decide(&policy, &fleet, &groups(), &[]).chosen())
        };
        let (fewer, more) = (with(n), with(n + 1));
        prop_assert!(fewer.iter().all(|id| more.contains(id)));
        prop_assert!(more.len() <= fewer.len() + 1);
    }

    #[test]
    fn e_3_the_remedy_of_a_spread_is_true(fleet in any_fleet(), spread in any_spread()) {
        let mut placement =
            Placement { predicates: vec![Predicate::default()], spread: vec![spread], ..Placement::default() };
        let decision = decide(&placement, &fleet, &[], &[]);
        for verdict in decision.refused() {
            let refusal = verdict.refusal().unwrap();
            if refusal.step == Step::Spread && refusal.remedy.starts_with("allow a skew of ") {
                placement.spread[0].max_skew = refusal.remedy.split(' ').find_map(|word| word.parse().ok()).unwrap();
                let again = decide(&placement, &fleet, &[], &[]);
                prop_assert!(again.chosen().any(|chosen| chosen.cluster == verdict.cluster), "{:?}", decision);
            }
        }
    }

    #[test]
    fn a_selector_on_facts_reads_back_as_it_was_written(terms in prop::collection::vec(any_fact_term(), 0..4)) {
        let selector: FactSelector = terms.join(",").parse().unwrap();
        prop_assert_eq!(selector.to_string().parse::<FactSelector>().unwrap(), selector);
    }

    #[test]
    fn g502_a_selector_on_facts_that_some_cluster_matches_is_no_contradiction(
        terms in prop::collection::vec(any_fact_term(), 0..4), cluster in any_cluster(1),
    ) {
        let selector: FactSelector = terms.join(",").parse().unwrap();
        if selector.terms.iter().all(|term| term.matches(&cluster)) {
            prop_assert!(!selector.is_contradictory());
        }
    }
}
