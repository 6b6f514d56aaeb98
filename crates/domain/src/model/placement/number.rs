//! The last filter: at most `number_of_clusters` clusters.

use super::candidate::Candidate;
use super::{
    FilterObservation, FilterRequirement, FilterResult, Placement, PlacementFilter, Remedy, saturating_u32,
};

/// Ranks the candidates that passed every filter on the single cluster, best first.
///
/// With `sticky`, clusters that run the workload come first, so that a decision is stable. Then those without an
/// untolerated `PreferNoSelect` taint, then by score, then by reach, then by name, so that equal input gives equal
/// output.
pub(super) fn rank_candidates(candidates: &mut [&mut Candidate<'_>], sticky: bool) {
    candidates.sort_by_key(|c| {
        let preference = (sticky && !c.is_current, !c.prefer_no_select_taints.is_empty(), -c.score);
        (preference, c.cluster.connectivity, &c.cluster.name, c.cluster.id)
    });
}

/// Passes the first `number_of_clusters` of these, and records the result for all.
pub(super) fn limit_number(order: Vec<&mut Candidate<'_>>, placement: &Placement) {
    let number = placement.number_of_clusters;
    let total = saturating_u32(order.len());
    for (rank, candidate) in order.into_iter().enumerate() {
        let position = saturating_u32(rank + 1);
        let passed = number.is_none_or(|number| position <= number);
        let result = FilterResult {
            filter: PlacementFilter::Number,
            passed,
            expected: FilterRequirement::Number { most: number },
            actual: match number {
                None => FilterObservation::Matches,
                Some(_) => FilterObservation::Rank {
                    position,
                    of: total,
                    deployed: candidate.is_current,
                    not_preferred: candidate.prefer_no_select_taints.clone(),
                    connectivity: candidate.cluster.connectivity,
                },
            },
            remedy: (!passed).then_some(Remedy::RaiseNumber { to: position }),
        };
        candidate.filters.push(result);
        candidate.needed_changes = u32::from(!passed);
    }
}
