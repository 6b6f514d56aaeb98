//! The decision.

use std::collections::BTreeSet;

use super::predicate::Asked;
use super::{ClusterGroup, Decision, Placement, Step, StepResult, Verdict, number, score, spread, taint};
use crate::cluster::Cluster;
use crate::id::ClusterId;

/// A cluster on its way through the steps.
pub(super) struct Candidate<'a> {
    pub cluster: &'a Cluster,
    /// Whether it has the workload now.
    pub is_current: bool,
    /// The steps it went through so far.
    pub steps: Vec<StepResult>,
    /// Number of things that would have to change for it to be chosen; 0 while every step passed.
    pub away: u32,
    /// Taints that make it the last choice.
    pub last_choice: Vec<String>,
    /// What the scores gave it, weighted; 0 without any.
    pub score: i64,
}

/// Decides for every cluster. `current` are the clusters that have the workload now: unless the policy is not sticky,
/// they come before all others and a spread does not send them away; `NoSelectIfNew` and a cordon let them stay.
///
/// The result does not depend on the order of `clusters`, `groups` or `current`: the chosen come first by name, then
/// the refused, those first that need the fewest changes. The caller adds revision, time and trigger.
pub fn decide(
    placement: &Placement,
    clusters: &[Cluster],
    groups: &[ClusterGroup],
    current: &[ClusterId],
) -> Decision {
    let current: BTreeSet<ClusterId> = current.iter().copied().collect();
    let asked = Asked::new(placement, groups);
    let mut candidates: Vec<Candidate<'_>> =
        clusters.iter().map(|cluster| judge(&asked, cluster, current.contains(&cluster.id))).collect();
    let mut ranked: Vec<&mut Candidate<'_>> = candidates.iter_mut().filter(|c| c.away == 0).collect();
    score::rate(&mut ranked, &placement.score);
    number::rank(&mut ranked, placement.sticky);
    let taken = spread::take(ranked, placement);
    number::pick(taken, placement);
    // Among equally near clusters the one that got further is nearer.
    candidates.sort_by(|a, b| {
        let key = |c: &Candidate<'_>| (c.away, std::cmp::Reverse(c.steps.len()));
        key(a)
            .cmp(&key(b))
            .then_with(|| (&a.cluster.name, a.cluster.id).cmp(&(&b.cluster.name, b.cluster.id)))
    });
    Decision { verdicts: candidates.into_iter().map(verdict).collect(), ..Decision::default() }
}

/// Every step but the last, which needs all clusters. The record ends at the first refusal, the count of what would
/// have to change does not: a cluster with the wrong label *and* a taint is farther away than one with a taint.
fn judge<'a>(asked: &Asked<'_>, cluster: &'a Cluster, is_current: bool) -> Candidate<'a> {
    let (predicate, missing) = asked.step(cluster);
    let exclude = exclude(asked, cluster);
    let tainted = taint::step(&asked.placement.tolerations, cluster, is_current);
    let schedulable = schedulable(cluster, is_current);
    let away = missing + u32::from(!exclude.passed) + tainted.refusing + u32::from(!schedulable.passed);

    let mut steps = vec![predicate, exclude, tainted.result, schedulable];
    if let Some(refusal) = steps.iter().position(|step| !step.passed) {
        steps.truncate(refusal + 1);
    }
    Candidate { cluster, is_current, steps, away, last_choice: tainted.last_choice, score: 0 }
}

fn exclude(asked: &Asked<'_>, cluster: &Cluster) -> StepResult {
    let passed = !asked.excluded.contains(cluster.name.as_str());
    StepResult {
        step: Step::Exclude,
        passed,
        asked: "not excluded by name".to_owned(),
        seen: if passed { "not excluded" } else { "excluded" }.to_owned(),
        remedy: match passed {
            true => String::new(),
            false => format!("remove {} from the excluded clusters", cluster.name),
        },
    }
}

fn schedulable(cluster: &Cluster, is_current: bool) -> StepResult {
    let passed = cluster.schedulable || is_current;
    let seen = match (cluster.schedulable, is_current) {
        (true, _) => "takes new workloads",
        (false, true) => "takes no new workloads, but has this one already",
        (false, false) => "takes no new workloads",
    };
    StepResult {
        step: Step::Schedulable,
        passed,
        asked: "takes new workloads".to_owned(),
        seen: seen.to_owned(),
        remedy: match passed {
            true => String::new(),
            false => format!("let {} take new workloads again (uncordon it)", cluster.name),
        },
    }
}

fn verdict(candidate: Candidate<'_>) -> Verdict {
    Verdict {
        cluster: candidate.cluster.id,
        name: candidate.cluster.name.clone(),
        chosen: candidate.away == 0,
        steps: candidate.steps,
    }
}
