//! Laws of placement, on fleets made at random.

use proptest::prelude::*;

use super::remedy::Change;
use super::tests::{cluster, labelled};
use super::*;
use crate::cluster::{Reach, Taint};

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
    (labels, prop::collection::vec(any_taint(), 0..2), prop::bool::weighted(0.8), reach).prop_map(
        move |(labels, taints, schedulable, reach)| {
            let labels: Vec<(&str, &str)> = labels.iter().map(|(k, v)| (KEYS[*k], VALUES[*v])).collect();
            Cluster { taints, schedulable, reach, ..cluster(&format!("c-{n}"), &labels) }
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
    (names, groups, prop::collection::vec(any_term(), 0..3)).prop_map(|(names, groups, terms)| Predicate {
        names,
        groups,
        ..labelled(&terms.join(","))
    })
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

fn groups() -> Vec<ClusterGroup> {
    vec![
        ClusterGroup { name: "east".into(), members: vec!["c-1".into(), "c-2".into()], selector: None },
        ClusterGroup { name: "west".into(), members: vec![], selector: "region=b".parse().ok() },
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
            selector: None,
        }),
        Change::AddName { cluster } => predicate.names.push(cluster.clone()),
    }
}

proptest! {
    #[test]
    fn e_3_a_decision_does_not_depend_on_the_order_of_its_input(
        placement in any_placement(), fleet in any_fleet(), turn in 0..8_usize, current in 0..256_u32,
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
        placement in any_placement(), fleet in any_fleet(),
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
        placement in any_placement(), fleet in any_fleet(), joins in any_cluster(9),
    ) {
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
        if let Some(changes) = predicate::missing(&predicate, &cluster, &groups) {
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
        let hopeless = predicate::missing(&predicate, &cluster("c-1", &[]), &[]).is_none();
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
}
