//! The last step: among the number asked for.

use super::decide::Candidate;
use super::{Placement, Step, StepResult};

/// Ranks the candidates that passed every step of their own, best first.
///
/// Those that have the workload come first: a decision stays as it is until something forces it to move. Then those
/// without a `PreferNoSelect` taint, then by score, then those that can be heard, then by name, so that equal input
/// gives equal output.
pub(super) fn rank(candidates: &mut [&mut Candidate<'_>], sticky: bool) {
    candidates.sort_by_key(|c| {
        let standing = (sticky && !c.is_current, !c.last_choice.is_empty(), -c.score);
        (standing, c.cluster.reach, &c.cluster.name, c.cluster.id)
    });
}

/// Lets the first so many of these pass.
pub(super) fn pick(order: Vec<&mut Candidate<'_>>, placement: &Placement) {
    let number = placement.number_of_clusters;
    let asked = match number {
        None => "as many clusters as match".to_owned(),
        Some(1) => "1 cluster".to_owned(),
        Some(number) => format!("{number} clusters"),
    };
    let total = order.len();
    for (place, candidate) in order.into_iter().enumerate() {
        let passed = number.is_none_or(|number| place < usize::try_from(number).unwrap_or(usize::MAX));
        let result = StepResult {
            step: Step::Number,
            passed,
            asked: asked.clone(),
            seen: match number {
                None => "matches".to_owned(),
                Some(_) => format!("place {} of {total}: {}", place + 1, standing(candidate)),
            },
            remedy: if passed { String::new() } else { format!("ask for {} clusters", place + 1) },
        };
        candidate.steps.push(result);
        candidate.away = u32::from(!passed);
    }
}

/// Why a candidate is ranked where it is.
fn standing(candidate: &Candidate<'_>) -> String {
    let mut parts = vec![if candidate.is_current { "has the workload" } else { "new" }.to_owned()];
    if !candidate.last_choice.is_empty() {
        parts.push(format!("last choice by {}", super::remedy::listed(&candidate.last_choice, "and")));
    }
    parts.push(candidate.cluster.reach.word().to_lowercase());
    parts.join(", ")
}
