//! How many entries a policy has: each of them is compared with each cluster, at every check and every placement (G502).

use super::{INVALID_GROUP, Placement};
use crate::text::finding::Finding;

/// Most predicates, tolerations, scores and spreads of a placement, of each kind.
pub const MAX_ENTRIES: usize = 100;

/// The lists of a policy that are too long, as findings. Paths are relative to the workload's spec.
pub fn check_limits(placement: &Placement) -> Vec<Finding> {
    let lists = [
        ("predicates", placement.predicates.len()),
        ("tolerations", placement.tolerations.len()),
        ("score", placement.score.len()),
        ("spread", placement.spread.len()),
    ];
    let too_long = lists.into_iter().filter(|(_, count)| *count > MAX_ENTRIES);
    too_long
        .map(|(field, count)| {
            let message =
                format!("The placement has {count} entries in {field}, and at most {MAX_ENTRIES} are possible.");
            let hint = "Write one entry for several: a predicate has any number of names and groups, and key in (a,b) matches several values.";
            Finding::error(INVALID_GROUP, message, hint).with_path(format!("/placement/{field}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::placement::{Predicate, check};

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
}
