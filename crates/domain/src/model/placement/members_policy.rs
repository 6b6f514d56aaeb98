//! New members: clusters that match only after the publish (S1-9).

use super::{
    Decision, FilterObservation, FilterRequirement, FilterResult, NewMembers, PlacementFilter, Remedy,
};
use crate::kubernetes::id::ClusterId;

/// Rejects selected clusters that do not run the workload yet, unless the policy is `auto`: their differences have not
/// been reviewed. A publish does not call this, and so accepts new members.
pub fn apply_new_members_policy(decision: &mut Decision, policy: NewMembers, current: &[ClusterId]) {
    let is_manual = policy == NewMembers::Manual;
    for evaluation in decision.evaluations.iter_mut().filter(|evaluation| evaluation.selected) {
        let is_new = !current.contains(&evaluation.cluster);
        evaluation.selected = !(is_manual && is_new);
        evaluation.filters.push(FilterResult {
            filter: PlacementFilter::NewMember,
            passed: evaluation.selected,
            expected: FilterRequirement::NewMembers { policy },
            actual: FilterObservation::Membership { deployed: !is_new },
            remedy: (!evaluation.selected).then_some(Remedy::Publish),
        });
    }
    // New members come first among the rejected clusters: they need only a publish.
    decision.evaluations.sort_by_key(|evaluation| !evaluation.selected);
}

#[cfg(test)]
mod tests {
    use super::super::ClusterEvaluation;
    use super::*;

    #[test]
    fn s1_9_a_cluster_that_joins_later_waits_for_the_next_publish_unless_the_policy_is_auto() {
        let old = ClusterId::from_parts(1, 1);
        let new = ClusterId::from_parts(2, 2);
        let evaluation =
            |cluster| ClusterEvaluation { cluster, name: String::new(), selected: true, filters: Vec::new() };
        let decision =
            Decision { evaluations: vec![evaluation(old), evaluation(new)], ..Decision::default() };

        let mut manual = decision.clone();
        apply_new_members_policy(&mut manual, NewMembers::Manual, &[old]);
        assert_eq!(manual.selected().map(|v| v.cluster).collect::<Vec<_>>(), [old]);
        assert_eq!(manual.evaluations[1].failed_filter().unwrap().filter, PlacementFilter::NewMember);

        let mut auto = decision;
        apply_new_members_policy(&mut auto, NewMembers::Auto, &[old]);
        assert_eq!(auto.selected().count(), 2);
    }
}
