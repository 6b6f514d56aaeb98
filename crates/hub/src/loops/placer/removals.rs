//! Which clusters lose a workload in this pass (E-6, P28).

use std::collections::{BTreeSet, HashMap, HashSet};

use domain::cluster::Connectivity;
use domain::placement::{
    ClusterEvaluation, Decision, DecisionTrigger, LeavingCluster, RemovalLimits, RemovalWait,
};
use domain::plan::removal_limit;
use domain::release::{Release, ReleaseGoal};
use domain::workload::{DeletionPolicy, Revision};
use domain::{ClusterId, Timestamp};

use super::decide::present_releases;

/// One cluster to remove the workload from.
pub(super) struct ReleaseRemoval {
    pub cluster: ClusterId,
    pub deletion: DeletionPolicy,
    pub reason: String,
}

/// What a selection of removals depends on, except the decision.
pub(super) struct RemovalInputs<'a> {
    pub revision: &'a Revision,
    /// All releases of the workload.
    pub releases: &'a [Release],
    /// Clusters that exist but were not evaluated: they keep the workload.
    pub unevaluated: &'a BTreeSet<ClusterId>,
    /// Whether the rollout of the revision is not completed.
    pub is_rolling_out: bool,
}

/// The removals of this pass.
pub(super) struct SelectedRemovals {
    pub removals: Vec<ReleaseRemoval>,
    /// Number of removals withheld because they exceed the limit of one automatic pass.
    pub withheld: usize,
}

/// Selects the removals to carry out now, and records in the decision what the others wait for. After a publish removals
/// need no notice; after a fleet change only those whose notice has ended are carried out (E-6). All of them wait until
/// enough clusters run the workload (P28). The next pass evaluates this again, so no timer is needed.
pub(super) fn select_removals(
    inputs: RemovalInputs<'_>,
    decision: &mut Decision,
    now: Timestamp,
) -> SelectedRemovals {
    let selected: HashSet<ClusterId> = decision.selected().map(|evaluation| evaluation.cluster).collect();
    let current: Vec<&Release> = present_releases(inputs.releases).collect();
    let pending =
        |cluster: ClusterId| decision.pending_removals.iter().find(move |one| one.cluster == cluster);
    let is_retained = |cluster| pending(cluster).is_some_and(|one| one.retained_by.is_some());
    let stays = |cluster: &ClusterId| {
        selected.contains(cluster) || is_retained(*cluster) || inputs.unevaluated.contains(cluster)
    };
    let mut leaving: Vec<&Release> =
        current.iter().copied().filter(|release| !stays(&release.cluster())).collect();
    let mut withheld = 0;
    if decision.trigger == DecisionTrigger::FleetChanged {
        let is_requested =
            |release: &&Release| pending(release.cluster()).is_some_and(|one| one.is_requested);
        let automatic = leaving.iter().filter(|release| !is_requested(release)).count();
        if automatic > removal_limit(current.len()) {
            withheld = automatic;
            leaving.retain(is_requested);
        }
    }
    leaving.retain(|release| pending(release.cluster()).is_none_or(|one| !one.is_deferred(now)));
    let waits = limits(&inputs, selected.len(), current.len()).admit(&leaving_clusters(&leaving));
    let (mut removals, mut waiting, mut admitted) = (Vec::new(), HashMap::new(), HashSet::new());
    let reasons: HashMap<ClusterId, &ClusterEvaluation> =
        decision.rejected().map(|evaluation| (evaluation.cluster, evaluation)).collect();
    for (release, wait) in leaving.into_iter().zip(waits) {
        let cluster = release.cluster();
        if let Some(wait) = wait {
            waiting.insert(cluster, wait);
            continue;
        }
        admitted.insert(cluster);
        let reason = describe_reason(reasons.get(&cluster).copied());
        removals.push(ReleaseRemoval { cluster, deletion: inputs.revision.spec.policies.deletion, reason });
    }
    update_pending(decision, withheld, &waiting, &admitted);
    SelectedRemovals { removals, withheld }
}

/// Records what removals wait for. Requested removals that are carried out now are no longer pending.
fn update_pending(
    decision: &mut Decision,
    withheld: usize,
    waiting: &HashMap<ClusterId, RemovalWait>,
    admitted: &HashSet<ClusterId>,
) {
    decision.pending_removals.retain(|one| {
        // Withheld: once fewer clusters are concerned, their notice starts then. Cancelled removals stay cancelled.
        let stays_pending = withheld == 0 || one.retained_by.is_some() || one.is_requested;
        stays_pending && !(one.is_requested && admitted.contains(&one.cluster))
    });
    for one in &mut decision.pending_removals {
        one.waiting_for = waiting.get(&one.cluster).copied();
    }
}

fn limits(inputs: &RemovalInputs<'_>, selected: usize, current: usize) -> RemovalLimits {
    let spec = &inputs.revision.spec;
    let is_removing = |release: &&Release| {
        matches!(release.goal(), ReleaseGoal::Removing { .. })
            && release.connectivity() != Connectivity::Offline
    };
    let in_flight = inputs.releases.iter().filter(is_removing).count();
    let available = inputs.releases.iter().filter(|release| release.is_available()).count();
    RemovalLimits {
        available: to_u32(available),
        min_available: spec.min_available(to_u32(selected)),
        in_flight: to_u32(in_flight),
        max_in_flight: to_u32(removal_limit(current + in_flight)),
        is_rolling_out: inputs.is_rolling_out,
    }
}

fn leaving_clusters(leaving: &[&Release]) -> Vec<LeavingCluster> {
    let state = |release: &&Release| LeavingCluster {
        is_available: release.is_available(),
        is_reachable: release.connectivity() != Connectivity::Offline,
    };
    leaving.iter().map(state).collect()
}

fn describe_reason(evaluation: Option<&ClusterEvaluation>) -> String {
    let filter = evaluation.and_then(ClusterEvaluation::failed_filter);
    filter.map_or_else(
        || "The cluster is no longer registered.".to_owned(),
        |filter| {
            format!(
                "The cluster is no longer selected: required {}, found {}.",
                filter.expected, filter.actual
            )
        },
    )
}

fn to_u32(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use domain::workload::WorkloadSpec;

    use domain::{ReleaseId, WorkloadId};

    use super::*;

    #[test]
    fn a_cluster_that_exists_without_an_evaluation_keeps_the_workload() {
        let (workload, at) = (WorkloadId::from_parts(1, 1), Timestamp::from_millis(0));
        let cluster = |n| ClusterId::from_parts(2, n);
        let release = |n| Release::new(ReleaseId::from_parts(3, n), workload, cluster(n), at);
        let revision = Revision {
            workload,
            number: 1,
            spec: WorkloadSpec::default(),
            author: String::new(),
            message: String::new(),
            created_at: at,
            helm_versions: Vec::new(),
        };
        let mut decision = Decision { trigger: DecisionTrigger::Published, ..Decision::default() };
        let unevaluated = [cluster(1)].into();
        let inputs = RemovalInputs {
            revision: &revision,
            releases: &[release(1), release(2)],
            unevaluated: &unevaluated,
            is_rolling_out: false,
        };
        let SelectedRemovals { removals, withheld } = select_removals(inputs, &mut decision, at);
        let removed: Vec<(ClusterId, &str)> =
            removals.iter().map(|one| (one.cluster, one.reason.as_str())).collect();
        assert_eq!((removed, withheld), (vec![(cluster(2), "The cluster is no longer registered.")], 0));
    }
}
