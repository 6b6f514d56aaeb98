//! The last filter: at most `number_of_clusters` clusters.

use super::decide::Candidate;
use super::{FilterResult, Placement, PlacementFilter};

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
    let expected = match number {
        None => "all matching clusters".to_owned(),
        Some(number) => format!("best {number} of the matching clusters"),
    };
    let total = order.len();
    for (rank, candidate) in order.into_iter().enumerate() {
        let passed = number.is_none_or(|number| rank < usize::try_from(number).unwrap_or(usize::MAX));
        let result = FilterResult {
            filter: PlacementFilter::Number,
            passed,
            expected: expected.clone(),
            actual: match number {
                None => "matches".to_owned(),
                Some(_) => format!("place {} of {total}: {}", rank + 1, describe_rank(candidate)),
            },
            remedy: if passed {
                String::new()
            } else {
                format!("raise the number of clusters to {}", rank + 1)
            },
        };
        candidate.filters.push(result);
        candidate.needed_changes = u32::from(!passed);
    }
}

/// The ranking criteria of a candidate, for display.
fn describe_rank(candidate: &Candidate<'_>) -> String {
    let mut parts = vec![if candidate.is_current { "already deployed" } else { "new" }.to_owned()];
    if !candidate.prefer_no_select_taints.is_empty() {
        parts.push(format!(
            "not preferred because of {}",
            super::remedy::format_list(&candidate.prefer_no_select_taints, "and")
        ));
    }
    parts.push(candidate.cluster.connectivity.as_str().to_lowercase());
    parts.join(", ")
}
