//! Scores: rank the candidates where not all are selected.
//!
//! Every score gives 0 to 100 points; the weighted sum ranks the candidates. Integers only, so that browser and server
//! compute equal results.

use super::candidate::Candidate;
use super::filter_result::ScorePart;
use super::{FilterObservation, FilterRequirement, FilterResult, PlacementFilter, Score, ScoreName};
use crate::kubernetes::quantity::Quantity;

/// Computes the score of every candidate, and records its parts.
pub(super) fn score_candidates(candidates: &mut [&mut Candidate<'_>], scores: &[Score]) {
    if scores.is_empty() {
        return;
    }
    let most = |amount: fn(&Candidate<'_>) -> Quantity| {
        candidates.iter().map(|candidate| amount(candidate)).max().unwrap_or_default()
    };
    let (most_cpu, most_memory) = (most(allocatable_cpu), most(allocatable_memory));
    let total_weight: i64 = scores.iter().map(|score| i64::from(score.weight).abs()).sum();
    for candidate in candidates {
        let points = |score: &Score| match score.name {
            ScoreName::Steady => 100 * u32::from(candidate.is_current),
            ScoreName::AllocatableCpu => allocatable_cpu(candidate).percent_of(most_cpu),
            ScoreName::AllocatableMemory => allocatable_memory(candidate).percent_of(most_memory),
            ScoreName::Label => 100 * u32::from(score.selector.matches(&candidate.cluster.labels)),
        };
        let parts: Vec<u32> = scores.iter().map(points).collect();
        let weighted = scores.iter().zip(&parts);
        let sum = weighted.map(|(score, points)| i64::from(score.weight) * i64::from(*points)).sum();
        let parts = scores.iter().zip(&parts).map(|(score, points)| ScorePart {
            name: score.name,
            selector: score.selector.clone(),
            points: *points,
        });
        let parts = parts.collect();
        candidate.score = sum;
        candidate.filters.push(FilterResult {
            filter: PlacementFilter::Score,
            passed: true,
            expected: FilterRequirement::Scores { scores: scores.to_vec() },
            actual: FilterObservation::Score { points: sum / total_weight.max(1), parts },
            remedy: None,
        });
    }
}

fn allocatable_cpu(candidate: &Candidate<'_>) -> Quantity {
    candidate.cluster.scored_cpu()
}

fn allocatable_memory(candidate: &Candidate<'_>) -> Quantity {
    candidate.cluster.scored_memory()
}
