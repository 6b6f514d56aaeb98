//! Scores: rank the candidates where not all are selected.
//!
//! Every score gives 0 to 100 points; the weighted sum ranks the candidates. Integers only, so that browser and server
//! compute equal results.

use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use super::decide::Candidate;
use super::filter_result::ScorePart;
use super::{FilterObservation, FilterRequirement, FilterResult, PlacementFilter};
use crate::labels::LabelSelector;
use crate::quantity::Quantity;

/// The largest weight; −10 is the smallest.
pub const MAX_WEIGHT: i32 = 10;

/// What is scored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr, VariantArray)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[strum(serialize_all = "camelCase")]
pub enum ScoreName {
    /// 100 points for a cluster that runs the workload.
    #[default]
    Steady,
    /// Cores allocatable to pods, relative to the candidate with most.
    AllocatableCpu,
    /// Memory allocatable to pods, relative to the candidate with most.
    AllocatableMemory,
    /// 100 points for a cluster whose labels match the selector.
    Label,
}

impl ScoreName {
    /// All scores, in display order.
    pub const ALL: &'static [Self] = Self::VARIANTS;

    /// Its name in the policy.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Its name, with the labels that score.
    pub(super) fn describe(self, selector: &LabelSelector) -> String {
        match self {
            Self::Label => format!("label {selector}"),
            name => name.as_str().to_owned(),
        }
    }
}

/// One score with its weight.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Score {
    /// What is scored.
    pub name: ScoreName,
    /// The labels that score; only for `label`.
    #[serde(skip_serializing_if = "LabelSelector::is_empty")]
    pub selector: LabelSelector,
    /// Weight of the points, −10 to 10; a negative weight subtracts them.
    pub weight: i32,
}

impl Score {
    pub(super) fn describe(&self) -> String {
        self.name.describe(&self.selector)
    }
}

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
    candidate.cluster.facts.node_pools.iter().map(|pool| pool.cpu).sum()
}

fn allocatable_memory(candidate: &Candidate<'_>) -> Quantity {
    candidate.cluster.facts.node_pools.iter().map(|pool| pool.memory).sum()
}
