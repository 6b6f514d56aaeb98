//! How many entries and values a policy has: each of them is compared with each cluster, at every check and every placement, and the decision
//! contains their texts for each cluster (G502).

use super::{INVALID_GROUP, MAX_NAMES, Placement};
use crate::text::finding::Finding;

/// Most predicates, tolerations, scores and spreads of a placement, of each kind.
pub const MAX_ENTRIES: usize = 100;
/// Most values in the selectors of all predicates and scores of a placement together, names of groups included. A term without values counts
/// as one. Names of clusters are not counted: they are looked up, and not compared one by one.
pub const MAX_VALUES: usize = 1_000;
/// Most bytes of what the decision contains for each cluster: these selectors as text, the groups, the first names of clusters of each
/// predicate, and the keys of spreads.
pub const MAX_SELECTOR_BYTES: usize = 32 << 10;

const HINT: &str = "Write one entry for several: a predicate has any number of names and groups, and key in (a,b) matches several values.";
const VALUES_HINT: &str =
    "Give the clusters one label that says what the values say together, or name the clusters.";

/// The lists of a policy that are too long, as findings; without such lists whether its selectors are too long together. Paths are relative to
/// the workload's spec.
pub fn check_limits(placement: &Placement) -> Vec<Finding> {
    let lists = [
        ("predicates", placement.predicates.len()),
        ("tolerations", placement.tolerations.len()),
        ("score", placement.score.len()),
        ("spread", placement.spread.len()),
    ];
    let too_long = lists.into_iter().filter(|(_, count)| *count > MAX_ENTRIES);
    let findings: Vec<Finding> = too_long
        .map(|(field, count)| {
            let message = format!(
                "The placement has {count} entries in {field}, and at most {MAX_ENTRIES} are possible."
            );
            Finding::error(INVALID_GROUP, message, HINT).with_path(format!("/placement/{field}"))
        })
        .collect();
    if findings.is_empty() { check_selectors(placement).into_iter().collect() } else { findings }
}

/// The finding on selectors that are too long together.
fn check_selectors(placement: &Placement) -> Option<Finding> {
    let (mut values, mut bytes) = (0_usize, 0_usize);
    for predicate in &placement.predicates {
        let (labels, facts) = (&predicate.label_selector, &predicate.field_selector);
        values += predicate.groups.len() + labels.count_values() + facts.count_values();
        bytes += labels.to_string().len() + facts.to_string().len();
        bytes += predicate
            .groups
            .iter()
            .chain(predicate.names.iter().take(MAX_NAMES))
            .map(String::len)
            .sum::<usize>();
    }
    for score in &placement.score {
        values += score.selector.count_values();
        bytes += score.selector.to_string().len();
    }
    bytes += placement.spread.iter().map(|spread| spread.key.len()).sum::<usize>();
    let message = if values > MAX_VALUES {
        format!(
            "The selectors and groups of the placement have {values} values together, and at most {MAX_VALUES} are possible: each is compared with each cluster."
        )
    } else if bytes > MAX_SELECTOR_BYTES {
        format!(
            "The selectors, groups and names of the placement have {bytes} bytes together, and at most {MAX_SELECTOR_BYTES} are possible: its decision contains them for each cluster."
        )
    } else {
        return None;
    };
    Some(Finding::error(INVALID_GROUP, message, VALUES_HINT).with_path("/placement"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::labels::LabelSelector;
    use crate::model::placement::{Predicate, Score, ScoreName, Spread, check};

    /// A selector that compares so many values of one label.
    fn selector(values: usize) -> LabelSelector {
        let list: Vec<String> = (0..values).map(|n| format!("v{n}")).collect();
        format!("key notin ({})", list.join(",")).parse().unwrap()
    }

    #[test]
    fn p20_a_policy_with_too_many_entries_has_one_finding_per_list_and_no_other() {
        let everything = vec![Predicate::default(); MAX_ENTRIES];
        let mut placement = Placement { predicates: everything, ..Placement::default() };
        assert!(check_limits(&placement).is_empty());
        placement.predicates.push(Predicate::default());
        let findings = check(&placement);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].is_blocking() && findings[0].path == "/placement/predicates", "{findings:?}");
    }

    #[test]
    fn p20_the_selectors_of_a_policy_have_limits_together_and_one_finding_beyond_them() {
        let with = |values: usize| Placement {
            predicates: vec![
                Predicate { label_selector: selector(values), ..Predicate::default() },
                Predicate { field_selector: "!region".parse().unwrap(), ..Predicate::default() },
                Predicate { groups: vec!["a".to_owned(); 100], ..Predicate::default() },
            ],
            score: vec![Score { name: ScoreName::Label, selector: selector(100), weight: 1 }],
            ..Placement::default()
        };
        assert!(check_limits(&with(MAX_VALUES - 201)).is_empty());
        let findings = check(&with(MAX_VALUES - 200));
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert!(findings[0].is_blocking() && findings[0].path == "/placement", "{findings:?}");
        assert!(findings[0].message.contains("1001 values together"), "{findings:?}");
        let long = (0..600).map(|n| format!("{}{n}", "v".repeat(55))).collect::<Vec<_>>().join(",");
        let label_selector = format!("key in ({long})").parse().unwrap();
        let predicates = vec![Predicate { label_selector, ..Predicate::default() }];
        let findings = check_limits(&Placement { predicates, ..Placement::default() });
        assert!(findings[0].message.contains("bytes together"), "{findings:?}");
    }

    #[test]
    fn p20_long_texts_that_the_decision_contains_for_each_cluster_are_refused_wherever_they_are() {
        let long = "x".repeat(MAX_SELECTOR_BYTES + 1);
        let with = |predicate: Predicate| Placement { predicates: vec![predicate], ..Placement::default() };
        let groups = (0..10).map(|n| format!("g{n}")).chain([long.clone()]).collect();
        let spread = vec![Spread { key: long.clone(), ..Spread::default() }];
        for placement in [
            with(Predicate { groups, ..Predicate::default() }),
            with(Predicate { names: vec![long.clone()], ..Predicate::default() }),
            Placement { spread, ..Placement::default() },
        ] {
            let findings = check(&placement);
            assert_eq!(findings.len(), 1, "{findings:?}");
            assert!(findings[0].message.contains("bytes together"), "{findings:?}");
        }
        // Any number of clusters can be named.
        let names = (0..10_000).map(|n| format!("cluster-{n}")).collect();
        assert_eq!(check_limits(&with(Predicate { names, ..Predicate::default() })), []);
    }
}
