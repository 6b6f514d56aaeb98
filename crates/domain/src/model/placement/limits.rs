//! How many entries and values a policy has: each of them is compared with each cluster, at every check and every placement, and the decision
//! contains the selectors for each cluster (G502).

use super::{INVALID_GROUP, Placement};
use crate::text::finding::Finding;

/// Most predicates, tolerations, scores and spreads of a placement, of each kind.
pub const MAX_ENTRIES: usize = 100;
/// Most values in the selectors of all predicates and scores of a placement together, names of groups included. A term without values counts
/// as one. Names of clusters are not counted: they are looked up, and not compared one by one.
pub const MAX_VALUES: usize = 1_000;
/// Most bytes of these selectors, as text.
pub const MAX_SELECTOR_BYTES: usize = 32 << 10;

const HINT: &str = "Write one entry for several: a predicate has any number of names and groups, and key in (a,b) matches several values.";
const VALUES_HINT: &str =
    "Give the clusters one label that says what the values say together, or name the clusters.";

/// The lists of a policy that are too long, as findings; without such lists whether its selectors are too long together. Paths are relative to the workload's spec.
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
    }
    for score in &placement.score {
        values += score.selector.count_values();
        bytes += score.selector.to_string().len();
    }
    let (count, limit, what) = if values > MAX_VALUES {
        (values, MAX_VALUES, "values")
    } else if bytes > MAX_SELECTOR_BYTES {
        (bytes, MAX_SELECTOR_BYTES, "bytes")
    } else {
        return None;
    };
    let message = format!(
        "The selectors and groups of the placement have {count} {what} together, and at most {limit} are possible: each is compared with each cluster."
    );
    Some(Finding::error(INVALID_GROUP, message, VALUES_HINT).with_path("/placement"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes::labels::LabelSelector;
    use crate::model::placement::{Predicate, Score, ScoreName, check};

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
}
