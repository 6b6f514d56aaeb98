//! The decision: evaluates the filters for every cluster and ranks the result.

use std::collections::BTreeSet;

use super::candidate::Candidate;
use super::predicate::PreparedPlacement;
use super::{
    ClusterEvaluation, ClusterGroup, Decision, FilterObservation, FilterRequirement, FilterResult, Placement,
    PlacementFilter, Remedy, number, score, spread, taint,
};
use crate::kubernetes::id::ClusterId;
use crate::model::cluster::Cluster;

/// Evaluates the policy for every cluster. `current` are the clusters that run the workload now: if the policy is sticky,
/// they rank before all others and a spread does not remove them; `NoSelectIfNew` and a cordon do not reject them.
///
/// The result does not depend on the order of `clusters`, `groups` or `current`: selected clusters come first, by name,
/// then rejected ones, those that need the fewest changes first. The caller sets revision, time and trigger.
pub fn decide(
    placement: &Placement,
    clusters: &[Cluster],
    groups: &[ClusterGroup],
    current: &[ClusterId],
) -> Decision {
    let current: BTreeSet<ClusterId> = current.iter().copied().collect();
    let prepared = PreparedPlacement::new(placement, groups);
    let mut candidates: Vec<Candidate<'_>> = clusters
        .iter()
        .map(|cluster| evaluate_cluster(&prepared, cluster, current.contains(&cluster.id)))
        .collect();
    let mut ranked: Vec<&mut Candidate<'_>> =
        candidates.iter_mut().filter(|c| c.needed_changes == 0).collect();
    score::score_candidates(&mut ranked, &placement.score);
    number::rank_candidates(&mut ranked, placement.sticky);
    let ordered = spread::apply_spreads(ranked, placement);
    number::limit_number(ordered, placement);
    // With an equal number of changes, the cluster that passed more filters comes first.
    candidates.sort_by(|a, b| {
        let key = |c: &Candidate<'_>| (c.needed_changes, std::cmp::Reverse(c.filters.len()));
        key(a)
            .cmp(&key(b))
            .then_with(|| (&a.cluster.name, a.cluster.id).cmp(&(&b.cluster.name, b.cluster.id)))
    });
    Decision { evaluations: candidates.into_iter().map(into_evaluation).collect(), ..Decision::default() }
}

/// Evaluates the filters on the single cluster. The recorded results end at the first rejection, the count of needed
/// changes does not: a cluster with the wrong label *and* a taint needs more than one with a taint.
fn evaluate_cluster<'a>(
    prepared: &PreparedPlacement<'_>,
    cluster: &'a Cluster,
    is_current: bool,
) -> Candidate<'a> {
    let (predicate, missing) = prepared.evaluate_predicates(cluster);
    let exclude = filter_excluded(prepared, cluster);
    let tainted = taint::filter_taints(&prepared.placement.tolerations, cluster, is_current);
    let schedulable = filter_schedulable(cluster, is_current);
    let away = missing + u32::from(!exclude.passed) + tainted.rejecting + u32::from(!schedulable.passed);

    let mut steps = vec![predicate, exclude, tainted.result, schedulable];
    if let Some(rejection) = steps.iter().position(|step| !step.passed) {
        steps.truncate(rejection + 1);
    }
    Candidate {
        cluster,
        is_current,
        filters: steps,
        needed_changes: away,
        prefer_no_select_taints: tainted.prefer_no_select_taints,
        score: 0,
    }
}

fn filter_excluded(prepared: &PreparedPlacement<'_>, cluster: &Cluster) -> FilterResult {
    let passed = !prepared.excluded.contains(cluster.name.as_str());
    FilterResult {
        filter: PlacementFilter::Exclude,
        passed,
        expected: FilterRequirement::NotExcluded,
        actual: FilterObservation::Exclusion { excluded: !passed },
        remedy: (!passed).then(|| Remedy::Include { cluster: cluster.name.clone() }),
    }
}

fn filter_schedulable(cluster: &Cluster, is_current: bool) -> FilterResult {
    let passed = cluster.schedulable || is_current;
    FilterResult {
        filter: PlacementFilter::Schedulable,
        passed,
        expected: FilterRequirement::Schedulable,
        actual: FilterObservation::Scheduling { schedulable: cluster.schedulable, deployed: is_current },
        remedy: (!passed).then(|| Remedy::Uncordon { cluster: cluster.name.clone() }),
    }
}

fn into_evaluation(candidate: Candidate<'_>) -> ClusterEvaluation {
    ClusterEvaluation {
        cluster: candidate.cluster.id,
        name: candidate.cluster.name.clone(),
        selected: candidate.needed_changes == 0,
        filters: candidate.filters,
    }
}
