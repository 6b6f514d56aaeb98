//! The last step: among the number asked for.

use super::decide::Candidate;
use super::{Step, StepResult};
use crate::cluster::Reach;

/// Ranks the candidates that passed every other step and lets the first `number` pass.
///
/// Those that have the workload come first: a decision stays as it is until something forces it to move. Then those
/// without a `PreferNoSelect` taint, then those that can be heard, then by name, so that equal input gives equal output.
pub(super) fn pick(candidates: &mut [Candidate<'_>], number: Option<u32>) {
    let mut ranked: Vec<&mut Candidate<'_>> = candidates.iter_mut().filter(|c| c.away == 0).collect();
    ranked.sort_by_key(|c| {
        (!c.is_current, !c.last_choice.is_empty(), c.cluster.reach, &c.cluster.name, c.cluster.id)
    });
    let total = ranked.len();
    for (place, candidate) in ranked.into_iter().enumerate() {
        let passed = number.is_none_or(|number| place < number as usize);
        let result = StepResult {
            step: Step::Number,
            passed,
            asked: match number {
                None => "as many clusters as match".to_owned(),
                Some(1) => "1 cluster".to_owned(),
                Some(number) => format!("{number} clusters"),
            },
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
    parts.push(
        match candidate.cluster.reach {
            Reach::Online => "online",
            Reach::Late => "late",
            Reach::Offline => "offline",
        }
        .to_owned(),
    );
    parts.join(", ")
}
