//! The condition of a wait, and its evaluation. The evaluation is pure; only `refresh` requests what a status lacks.

use std::collections::BTreeSet;

use domain::health::HealthStatus;
use domain::release::{Reason, ReleaseState, StageName, SyncStatus};
use domain::workload::{DriftPolicy, Intent, WorkloadFailure};
use wire::{Client, TargetCluster, WorkloadStatus};

use crate::exit::ExitStatus;
use crate::failure::Failure;
use crate::output::join_names;

/// What to wait for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitCondition {
    /// This revision runs on these clusters, and is removed from all others.
    Deployed {
        /// Number of the revision.
        revision: u32,
        /// Names of the clusters.
        clusters: Vec<String>,
    },
    /// The workload runs on no cluster.
    Undeployed,
    /// The workload runs on no cluster and is deleted on the server.
    Deleted,
}

/// The result of an evaluation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitState {
    /// The condition is met.
    Met,
    /// Some clusters are in progress.
    InProgress,
    /// Some clusters failed, and no cluster is in progress.
    Failing,
    /// Every cluster has the revision, none is in progress, and on some it was changed by hand, which the drift policy only
    /// reports.
    Drifted,
    /// Not met, without progress or failure; the text is the reason.
    Stalled(String),
}

impl WaitCondition {
    /// Evaluates the status.
    pub fn evaluate(&self, status: &WorkloadStatus) -> WaitState {
        match self {
            Self::Deployed { revision, clusters } => evaluate_deployed(*revision, clusters, status),
            Self::Undeployed => evaluate_removed(status, true),
            Self::Deleted => evaluate_removed(status, false),
        }
    }

    /// The part of the status that concerns the condition: clusters at rest with an older revision are left out.
    pub fn relevant_status(&self, status: &WorkloadStatus) -> WorkloadStatus {
        let mut status = status.clone();
        if let Self::Deployed { revision, .. } = self {
            status
                .target_clusters
                .retain(|target| target.revision >= Some(*revision) || target.state.is_in_transition());
        }
        status
    }

    /// The result if the workload does not exist any more.
    pub fn on_deleted(&self, workload: &str) -> Result<ExitStatus, Failure> {
        match self {
            Self::Deployed { .. } => {
                Err(Failure::new(format!("{workload} was deleted during the wait."), ""))
            }
            Self::Undeployed | Self::Deleted => Ok(ExitStatus::Success),
        }
    }

    /// Updates the condition from the server: the workload may have been published again or unpublished, and the selected
    /// clusters may have changed between publish and placement.
    pub async fn refresh(&mut self, client: &Client, workload: &str) -> Result<(), Failure> {
        let Self::Deployed { revision, clusters } = self else { return Ok(()) };
        // A request that fails now is repeated with the next status.
        let Ok(view) = client.get_workload(workload).await else { return Ok(()) };
        if view.workload.intent != Intent::Published {
            return Err(Failure::new(
                format!("{workload} was unpublished during the wait."),
                format!("\"flotilla events --workload {workload}\" shows by whom."),
            ));
        }
        let Ok(decision) = client.get_placement_decision(workload).await else { return Ok(()) };
        if decision.revision.is_some_and(|decided| decided >= *revision) {
            *clusters = decision.selected().map(|evaluation| evaluation.name.clone()).collect();
        }
        Ok(())
    }
}

fn evaluate_deployed(revision: u32, clusters: &[String], status: &WorkloadStatus) -> WaitState {
    let targets = &status.target_clusters;
    let rollout = status.rollout.as_ref().filter(|rollout| rollout.revision == revision);
    if let Some(rollout) = rollout.filter(|rollout| rollout.drift_that_blocks() > 0) {
        return WaitState::Stalled(rollout.message(rollout.since));
    }
    let waits = status.is_rollout_waiting();
    let moves = |target: &TargetCluster| {
        target.state.is_in_transition() && !(waits && target.state == ReleaseState::Pending)
    };
    let moving: Vec<&TargetCluster> = targets.iter().filter(|target| moves(target)).collect();
    if !moving.is_empty() {
        let has_failed =
            |target: &TargetCluster| target.state.is_failing() && target.revision >= Some(revision);
        return match describe_not_assessed(&moving) {
            // What waits for a person makes no progress, so a failure elsewhere ends the wait as it does beside clusters at rest.
            Some(_) if targets.iter().any(has_failed) => WaitState::Failing,
            Some(why) => WaitState::Stalled(why),
            None => WaitState::InProgress,
        };
    }
    match rollout {
        Some(rollout) if rollout.is_auto_paused() || rollout.state.is_given_up() => {
            return WaitState::Failing;
        }
        // Clusters that still wait for their wave show the revision that runs there.
        Some(rollout) if rollout.state.is_active() && !waits => return WaitState::InProgress,
        // A rollout that waits for a user has a sentence that does not depend on the time.
        Some(rollout) if waits => return WaitState::Stalled(rollout.message(rollout.since)),
        _ => {}
    }
    let has_it = |name: &String| {
        targets.iter().any(|target| {
            target.cluster_name == *name && target.revision >= Some(revision) && !target.state.is_gone()
        })
    };
    let has_failed = |failure: &WorkloadFailure| format!("{} It is retried.", failure.message);
    let failures: Vec<String> = status.failures.iter().map(has_failed).collect();
    let missing: Vec<&str> = clusters.iter().filter(|name| !has_it(name)).map(String::as_str).collect();
    if !missing.is_empty() {
        let waiting = format!("Waiting for revision {revision} to be placed on {}.", join_names(&missing));
        return WaitState::Stalled([&[waiting][..], &failures].concat().join(" "));
    }
    let failing = |target: &TargetCluster| target.state.is_failing();
    if targets.iter().any(failing) {
        return WaitState::Failing;
    }
    let suspended: Vec<&TargetCluster> = targets.iter().filter(|target| is_suspended(target)).collect();
    if !suspended.is_empty() {
        return WaitState::Stalled(describe_suspended(&suspended));
    }
    let arrived = |target: &&TargetCluster| {
        let is_arrived = matches!(
            target.state,
            ReleaseState::Healthy | ReleaseState::NotAssessed | ReleaseState::Suspended
        );
        // Drift that is reverted is only an interruption; drift that is only reported is final.
        let is_final = target.state == ReleaseState::Drifted && target.drift_policy == DriftPolicy::Notify;
        is_arrived || is_final || target.state.is_gone()
    };
    let open: Vec<&TargetCluster> = targets.iter().filter(|target| !arrived(target)).collect();
    if !open.is_empty() {
        return WaitState::Stalled(describe_stall(&open));
    }
    if targets.iter().any(|target| target.state == ReleaseState::Drifted) {
        return WaitState::Drifted;
    }
    WaitState::Met
}

/// What clusters wait for whose objects nothing assesses, with the clusters of each reason; `None` if there are none, or others still make
/// progress. A cluster that waits for its wave makes none.
fn describe_not_assessed(moving: &[&TargetCluster]) -> Option<String> {
    let is_not_assessed = |target: &TargetCluster| {
        target.state == ReleaseState::Progressing && target.health.status == HealthStatus::NotAssessed
    };
    let (waiting, others): (Vec<&TargetCluster>, Vec<&TargetCluster>) =
        moving.iter().copied().partition(|target| is_not_assessed(target));
    if waiting.is_empty() || others.iter().any(|target| target.state != ReleaseState::Pending) {
        return None;
    }
    let messages: BTreeSet<&str> = waiting.iter().map(|target| target.message.as_str()).collect();
    let sentences = messages.into_iter().map(|message| {
        let names = waiting.iter().filter(|target| target.message == message);
        let names = join_names(&names.map(|target| target.cluster_name.as_str()).collect::<Vec<_>>());
        format!("Not assessed on {names}: {}.", message.trim_end_matches('.'))
    });
    Some(sentences.collect::<Vec<_>>().join(" "))
}

/// Whether a user suspended the release, so that it has not arrived: its own manifest may suspend a workload that has.
fn is_suspended(target: &TargetCluster) -> bool {
    let released = &target.stages.get(StageName::Released).state;
    !target.state.is_gone() && released.reason().is_some_and(|reason| reason.reason == Reason::Suspended)
}

fn describe_suspended(suspended: &[&TargetCluster]) -> String {
    let names: Vec<&str> = suspended.iter().map(|target| &*target.cluster_name).collect();
    let message = suspended.first().map(|target| target.message.as_str()).unwrap_or_default();
    format!("Suspended on {}: {message}", join_names(&names))
}

/// Why clusters stay as they are, one sentence per state.
fn describe_stall(open: &[&TargetCluster]) -> String {
    let states: BTreeSet<ReleaseState> = open.iter().map(|target| target.state).collect();
    let sentences = states.into_iter().map(|state| {
        let names = open.iter().filter(|target| target.state == state);
        let names = join_names(&names.map(|target| &*target.cluster_name).collect::<Vec<_>>());
        match state {
            ReleaseState::Unknown => format!("No contact with {names}. Waiting until they reconnect."),
            ReleaseState::Stale => format!("An older revision still runs on {names}."),
            ReleaseState::Drifted => format!("Drifted on {names}; it is being reverted."),
            other => format!("{} on {names}.", other.as_str()),
        }
    });
    sentences.collect::<Vec<_>>().join(" ")
}

fn evaluate_removed(status: &WorkloadStatus, enough: bool) -> WaitState {
    let targets = &status.target_clusters;
    let left = || targets.iter().filter(|target| !target.state.is_gone());
    if left().next().is_none() {
        return if enough { WaitState::Met } else { WaitState::InProgress };
    }
    if targets.iter().any(|target| target.state.is_in_transition()) {
        return WaitState::InProgress;
    }
    // Failures before the removal starts do not count.
    if left().any(|target| target.state.is_failing() && target.sync == SyncStatus::Removing) {
        return WaitState::Failing;
    }
    let suspended: Vec<&TargetCluster> = left().filter(|target| is_suspended(target)).collect();
    if !suspended.is_empty() {
        return WaitState::Stalled(describe_suspended(&suspended));
    }
    let silent: Vec<&str> = left()
        .filter(|target| target.state == ReleaseState::Unknown)
        .map(|target| &*target.cluster_name)
        .collect();
    if silent.is_empty() {
        return WaitState::InProgress;
    }
    WaitState::Stalled(format!(
        "No contact with {}. Waiting until they reconnect; --force abandons them.",
        join_names(&silent)
    ))
}

#[cfg(test)]
pub(super) mod tests {
    use domain::cluster::Connectivity;
    use domain::health::Health;
    use domain::release::stage::StageReason;
    use domain::release::{StageState, Stages};
    use domain::{ClusterId, Timestamp};

    use super::*;

    pub(in crate::wait) fn target_cluster(name: &str, state: ReleaseState, revision: u32) -> TargetCluster {
        TargetCluster {
            cluster_id: ClusterId::from_parts(1, 1),
            cluster_name: name.into(),
            state,
            last_known_state: None,
            sync: SyncStatus::default(),
            health: Health::default(),
            connectivity: Connectivity::Online,
            drift_policy: DriftPolicy::default(),
            stages: Stages::default(),
            message: String::new(),
            facts_notice: String::new(),
            finalizers: Vec::new(),
            conditions: Vec::new(),
            revision: Some(revision),
            last_seen: None,
            state_since: Timestamp::from_millis(0),
        }
    }

    fn evaluate_clusters(targets: &[(&str, ReleaseState, u32)]) -> WaitState {
        let condition = WaitCondition::Deployed { revision: 2, clusters: vec!["a".into(), "b".into()] };
        let targets: Vec<TargetCluster> = targets.iter().map(|(n, s, r)| target_cluster(n, *s, *r)).collect();
        let counts = targets.iter().map(|target| target.state).collect();
        condition.evaluate(&WorkloadStatus { counts, target_clusters: targets, ..WorkloadStatus::default() })
    }

    #[test]
    fn r7_it_is_done_only_when_every_cluster_has_this_revision() {
        assert_eq!(
            evaluate_clusters(&[("a", ReleaseState::Healthy, 2), ("b", ReleaseState::Healthy, 2)]),
            WaitState::Met
        );
        let older = evaluate_clusters(&[("a", ReleaseState::Healthy, 2), ("b", ReleaseState::Healthy, 1)]);
        assert!(matches!(older, WaitState::Stalled(why) if why.contains("placed on b")));
        assert!(matches!(evaluate_clusters(&[]), WaitState::Stalled(_)));
    }

    #[test]
    fn r7_a_failure_counts_only_when_no_cluster_is_in_progress() {
        assert_eq!(
            evaluate_clusters(&[("a", ReleaseState::Failed, 2), ("b", ReleaseState::Applying, 2)]),
            WaitState::InProgress
        );
        assert_eq!(
            evaluate_clusters(&[("a", ReleaseState::Degraded, 2), ("b", ReleaseState::Healthy, 2)]),
            WaitState::Failing
        );
        let older = evaluate_clusters(&[("a", ReleaseState::Degraded, 1), ("b", ReleaseState::Healthy, 2)]);
        assert!(matches!(older, WaitState::Stalled(_)), "a failure of an older revision does not count");
    }

    #[test]
    fn a10_a_cluster_that_drifts_is_not_done_under_either_drift_policy() {
        let evaluate = |policy| {
            let healthy = target_cluster("a", ReleaseState::Healthy, 2);
            let drifted =
                TargetCluster { drift_policy: policy, ..target_cluster("b", ReleaseState::Drifted, 2) };
            let targets = vec![healthy, drifted];
            let condition = WaitCondition::Deployed { revision: 2, clusters: vec!["a".into(), "b".into()] };
            condition.evaluate(&WorkloadStatus { target_clusters: targets, ..WorkloadStatus::default() })
        };
        assert_eq!(evaluate(DriftPolicy::Notify), WaitState::Drifted);
        assert_eq!(
            evaluate(DriftPolicy::Revert),
            WaitState::Stalled("Drifted on b; it is being reverted.".into())
        );
    }

    #[test]
    fn the_wait_names_what_is_not_assessed_once_nothing_else_moves() {
        let evaluate = |other: ReleaseState| {
            let waiting = TargetCluster {
                health: Health { status: HealthStatus::NotAssessed, ..Health::default() },
                message: "Lamp a: exists; it reports no status.".into(),
                ..target_cluster("a", ReleaseState::Progressing, 2)
            };
            let targets = vec![waiting, target_cluster("b", other, 2)];
            let condition = WaitCondition::Deployed { revision: 2, clusters: vec!["a".into(), "b".into()] };
            condition.evaluate(&WorkloadStatus { target_clusters: targets, ..WorkloadStatus::default() })
        };
        let named = WaitState::Stalled("Not assessed on a: Lamp a: exists; it reports no status.".into());
        assert_eq!(evaluate(ReleaseState::Healthy), named);
        assert_eq!(evaluate(ReleaseState::Pending), named, "the next wave does not open");
        assert_eq!(evaluate(ReleaseState::Applying), WaitState::InProgress);
        assert_eq!(evaluate(ReleaseState::Degraded), WaitState::Failing, "it is not hidden by what waits");
        let accepted = ("a", ReleaseState::NotAssessed, 2);
        assert_eq!(evaluate_clusters(&[accepted, ("b", ReleaseState::Healthy, 2)]), WaitState::Met);
    }

    #[test]
    fn a_cluster_that_its_own_manifest_suspends_is_done() {
        let suspended = ("b", ReleaseState::Suspended, 2);
        assert_eq!(evaluate_clusters(&[("a", ReleaseState::Healthy, 2), suspended]), WaitState::Met);
    }

    #[test]
    fn s2_11_a_suspended_cluster_is_not_done_and_the_wait_says_by_whom() {
        let why = "The workload is suspended by ann since today: handover.";
        let mut suspended =
            TargetCluster { message: why.into(), ..target_cluster("b", ReleaseState::Suspended, 2) };
        let reason = StageReason::new(Reason::Suspended, why);
        suspended.stages.set(StageName::Released, StageState::Waiting(reason), Timestamp::from_millis(0));
        let targets = vec![target_cluster("a", ReleaseState::Healthy, 2), suspended];
        let status = WorkloadStatus { target_clusters: targets, ..WorkloadStatus::default() };
        let condition = WaitCondition::Deployed { revision: 2, clusters: vec!["a".into(), "b".into()] };
        let stalled = WaitState::Stalled(format!("Suspended on b: {why}"));
        assert_eq!(condition.evaluate(&status), stalled);
        assert!(matches!(WaitCondition::Undeployed.evaluate(&status), WaitState::Stalled(_)));
    }

    #[test]
    fn r7_the_wait_names_clusters_without_contact() {
        let state = evaluate_clusters(&[("a", ReleaseState::Unknown, 2), ("b", ReleaseState::Healthy, 2)]);
        assert!(matches!(state, WaitState::Stalled(why) if why.contains("No contact with a.")));
    }

    #[test]
    fn a_connected_cluster_with_a_stall_is_not_reported_as_out_of_contact() {
        let result = evaluate_clusters(&[("a", ReleaseState::Stale, 2), ("b", ReleaseState::Healthy, 2)]);
        assert_eq!(result, WaitState::Stalled("An older revision still runs on a.".into()));
        let result = evaluate_clusters(&[("a", ReleaseState::Stale, 2), ("b", ReleaseState::Unknown, 2)]);
        let WaitState::Stalled(reason) = result else { panic!("{result:?}") };
        assert_eq!(
            reason,
            "An older revision still runs on a. No contact with b. Waiting until they reconnect."
        );
    }

    #[test]
    fn the_workload_must_be_removed_from_clusters_that_are_no_longer_selected() {
        let with = |state| {
            evaluate_clusters(&[
                ("a", ReleaseState::Healthy, 2),
                ("b", ReleaseState::Healthy, 2),
                ("c", state, 1),
            ])
        };
        assert_eq!(with(ReleaseState::Removing), WaitState::InProgress);
        assert_eq!(with(ReleaseState::Removed), WaitState::Met);
    }

    #[test]
    fn failures_before_a_removal_starts_do_not_count() {
        let broken = target_cluster("a", ReleaseState::Degraded, 1);
        let mut status = WorkloadStatus { target_clusters: vec![broken], ..WorkloadStatus::default() };
        assert_eq!(WaitCondition::Undeployed.evaluate(&status), WaitState::InProgress);
        status.target_clusters[0].sync = SyncStatus::Removing;
        assert_eq!(WaitCondition::Undeployed.evaluate(&status), WaitState::Failing);
        status.target_clusters[0].state = ReleaseState::Removed;
        assert_eq!(WaitCondition::Undeployed.evaluate(&status), WaitState::Met);
        assert_eq!(WaitCondition::Deleted.evaluate(&status), WaitState::InProgress);
    }
}
