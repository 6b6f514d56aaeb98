//! Scores: what makes one cluster better than another where not all are taken.
//!
//! Every score gives 0 to 100 points; the weighted sum ranks the candidates. Whole numbers only, so that browser and
//! server agree to the last digit.

use serde::{Deserialize, Serialize};

use super::decide::Candidate;
use super::{Step, StepResult};
use crate::labels::Selector;
use crate::quantity::Quantity;

/// The heaviest weight; −10 is the lightest.
pub const MAX_WEIGHT: i32 = 10;

/// What is scored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
pub enum ScoreName {
    /// 100 points for a cluster that has the workload.
    #[default]
    Steady,
    /// Cores that its pods can have, against the candidate that has most.
    AllocatableCpu,
    /// Memory that its pods can have, against the candidate that has most.
    AllocatableMemory,
    /// 100 points for a cluster whose labels match the selector.
    Label,
}

impl ScoreName {
    /// All of them, in the order shown.
    pub const ALL: [Self; 4] = [Self::Steady, Self::AllocatableCpu, Self::AllocatableMemory, Self::Label];

    /// Its name in the policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::AllocatableCpu => "allocatableCpu",
            Self::AllocatableMemory => "allocatableMemory",
            Self::Label => "label",
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
    /// The labels that score, with `label`.
    #[serde(skip_serializing_if = "Selector::is_empty")]
    pub selector: Selector,
    /// How much it counts, −10 to 10; below 0 the points count against.
    pub weight: i32,
}

impl Score {
    fn told(&self) -> String {
        match self.name {
            ScoreName::Label => format!("label {}", self.selector),
            name => name.name().to_owned(),
        }
    }
}

/// Gives every candidate its score, and records its parts.
pub(super) fn rate(candidates: &mut [&mut Candidate<'_>], scores: &[Score]) {
    if scores.is_empty() {
        return;
    }
    let most = |amount: fn(&Candidate<'_>) -> Quantity| {
        candidates.iter().map(|candidate| amount(candidate)).max().unwrap_or_default()
    };
    let (most_cpu, most_memory) = (most(cpu), most(memory));
    let asked = scores.iter().map(|score| format!("{} × {}", score.told(), score.weight));
    let asked: String = asked.collect::<Vec<_>>().join(", ");
    let heaviest: i64 = scores.iter().map(|score| i64::from(score.weight).abs()).sum();
    for candidate in candidates {
        let points = |score: &Score| match score.name {
            ScoreName::Steady => 100 * u32::from(candidate.is_current),
            ScoreName::AllocatableCpu => cpu(candidate).percent_of(most_cpu),
            ScoreName::AllocatableMemory => memory(candidate).percent_of(most_memory),
            ScoreName::Label => 100 * u32::from(score.selector.matches(&candidate.cluster.labels)),
        };
        let parts: Vec<u32> = scores.iter().map(points).collect();
        let weighted = scores.iter().zip(&parts);
        let sum = weighted.map(|(score, points)| i64::from(score.weight) * i64::from(*points)).sum();
        let told = scores.iter().zip(&parts).map(|(score, points)| format!("{} {points}", score.told()));
        let told: Vec<String> = told.collect();
        candidate.score = sum;
        candidate.steps.push(StepResult {
            step: Step::Score,
            passed: true,
            asked: asked.clone(),
            seen: format!("{} of 100: {}", sum / heaviest.max(1), told.join(", ")),
            remedy: String::new(),
        });
    }
}

fn cpu(candidate: &Candidate<'_>) -> Quantity {
    candidate.cluster.facts.node_pools.iter().map(|pool| pool.cpu).sum()
}

fn memory(candidate: &Candidate<'_>) -> Quantity {
    candidate.cluster.facts.node_pools.iter().map(|pool| pool.memory).sum()
}
