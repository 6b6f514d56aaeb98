//! Where a wait should get, and how far a status is from it. Judging is pure; only what a status can't tell is asked for.

use domain::release::{State, Sync};
use domain::rollout::RolloutState;
use domain::workload::Intent;
use wire::{Client, Status, TargetCluster};

use crate::exit::Exit;
use crate::failure::Failure;

/// Where it should get.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Goal {
    /// This revision runs on these clusters, and what left them is gone.
    Runs {
        /// Number of the revision.
        revision: u32,
        /// Names of the clusters.
        clusters: Vec<String>,
    },
    /// It runs nowhere.
    RunsNowhere,
    /// It runs nowhere and the server has forgotten it.
    Forgotten,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// There.
    Done,
    /// On its way.
    Moving,
    /// Some clusters failed, and nothing is on its way any more.
    Failing,
    /// Neither there nor on its way nor failed, and why.
    Stuck(String),
}

impl Goal {
    /// How far the status is from it.
    pub fn judge(&self, status: &Status) -> Verdict {
        match self {
            Self::Runs { revision, clusters } => runs(*revision, clusters, status),
            Self::RunsNowhere => gone(status, true),
            Self::Forgotten => gone(status, false),
        }
    }

    /// What of the status is about it: that a cluster does well with the revision before is no news.
    pub fn concerns(&self, status: &Status) -> Status {
        let mut status = status.clone();
        if let Self::Runs { revision, .. } = self {
            status
                .target_clusters
                .retain(|target| target.revision >= Some(*revision) || target.state.is_moving());
        }
        status
    }

    /// The workload is not there any more.
    pub fn forgotten(&self, workload: &str) -> Result<Exit, Failure> {
        match self {
            Self::Runs { .. } => {
                Err(Failure::new(format!("{workload} was deleted while it was waited for."), ""))
            }
            Self::RunsNowhere | Self::Forgotten => Ok(Exit::Done),
        }
    }

    /// Asks whether the goal is still the goal: somebody may have published again or taken it back, and clusters may
    /// have come and gone between the publish and the placement.
    pub async fn refresh(&mut self, client: &Client, workload: &str) -> Result<(), Failure> {
        let Self::Runs { revision, clusters } = self else { return Ok(()) };
        // What can't be asked now is asked with the next look.
        let Ok(view) = client.workload_get(workload).await else { return Ok(()) };
        if view.workload.intent != Intent::Published {
            return Err(Failure::new(
                format!("{workload} was taken back while it was waited for."),
                format!("\"flotilla events --workload {workload}\" says by whom."),
            ));
        }
        let Ok(decision) = client.placement_decision(workload).await else { return Ok(()) };
        if decision.revision.is_some_and(|decided| decided >= *revision) {
            *clusters = decision.chosen().map(|verdict| verdict.name.clone()).collect();
        }
        Ok(())
    }
}

fn runs(revision: u32, clusters: &[String], status: &Status) -> Verdict {
    let targets = &status.target_clusters;
    let waits = status.rollout_waits();
    let moves =
        |target: &TargetCluster| target.state.is_moving() && !(waits && target.state == State::Pending);
    if targets.iter().any(moves) {
        return Verdict::Moving;
    }
    match status.rollout.as_ref().filter(|rollout| rollout.revision == revision) {
        Some(rollout)
            if matches!(rollout.state, RolloutState::AutoPaused { .. } | RolloutState::Aborted { .. }) =>
        {
            return Verdict::Failing;
        }
        // What clusters that still wait for their turn show is what runs there until then.
        Some(rollout) if rollout.state.is_active() && !waits => return Verdict::Moving,
        // One that waits for a person says nothing that changes with the time.
        Some(rollout) if waits => return Verdict::Stuck(rollout.sentence(rollout.since)),
        _ => {}
    }
    let has_it = |name: &String| {
        targets.iter().any(|target| {
            target.cluster_name == *name && target.revision >= Some(revision) && !target.state.is_gone()
        })
    };
    let missing: Vec<&str> = clusters.iter().filter(|name| !has_it(name)).map(String::as_str).collect();
    if !missing.is_empty() {
        return Verdict::Stuck(format!("Waiting for revision {revision} to be placed on {}.", few(&missing)));
    }
    let failing = |target: &TargetCluster| target.state.is_failing();
    if targets.iter().any(failing) {
        return Verdict::Failing;
    }
    let arrived = |target: &&TargetCluster| {
        matches!(target.state, State::Healthy | State::Suspended | State::Drifted) || target.state.is_gone()
    };
    let open: Vec<&str> =
        targets.iter().filter(|target| !arrived(target)).map(|target| &*target.cluster_name).collect();
    if open.is_empty() {
        return Verdict::Done;
    }
    Verdict::Stuck(format!("Not heard from: {}. Waiting for them to come back.", few(&open)))
}

fn gone(status: &Status, enough: bool) -> Verdict {
    let targets = &status.target_clusters;
    let left = || targets.iter().filter(|target| !target.state.is_gone());
    if left().next().is_none() {
        return if enough { Verdict::Done } else { Verdict::Moving };
    }
    if targets.iter().any(|target| target.state.is_moving()) {
        return Verdict::Moving;
    }
    // Before the removal begins, a workload may be as broken as it likes.
    if left().any(|target| target.state.is_failing() && target.sync == Sync::Removing) {
        return Verdict::Failing;
    }
    let silent: Vec<&str> =
        left().filter(|target| target.state == State::Unknown).map(|target| &*target.cluster_name).collect();
    if silent.is_empty() {
        return Verdict::Moving;
    }
    Verdict::Stuck(format!(
        "Not heard from: {}. Waiting for them to come back; --force gives them up.",
        few(&silent)
    ))
}

fn few(names: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use domain::cluster::Reach;
    use domain::health::Health;
    use domain::release::Stages;
    use domain::{ClusterId, Timestamp};

    use super::*;

    fn target(name: &str, state: State, revision: u32) -> TargetCluster {
        TargetCluster {
            cluster_id: ClusterId::from_parts(1, 1),
            cluster_name: name.into(),
            state,
            last_known_state: None,
            sync: Sync::default(),
            health: Health::default(),
            reach: Reach::Online,
            stages: Stages::default(),
            message: String::new(),
            finalizers: Vec::new(),
            conditions: Vec::new(),
            revision: Some(revision),
            last_seen: None,
            state_since: Timestamp::from_millis(0),
        }
    }

    fn judged(targets: &[(&str, State, u32)]) -> Verdict {
        let goal = Goal::Runs { revision: 2, clusters: vec!["a".into(), "b".into()] };
        let targets: Vec<TargetCluster> = targets.iter().map(|(n, s, r)| target(n, *s, *r)).collect();
        let counts = targets.iter().map(|target| target.state).collect();
        goal.judge(&Status { counts, target_clusters: targets, rollout: None })
    }

    #[test]
    fn r7_it_is_done_only_when_every_cluster_has_this_very_revision() {
        assert_eq!(judged(&[("a", State::Healthy, 2), ("b", State::Healthy, 2)]), Verdict::Done);
        let older = judged(&[("a", State::Healthy, 2), ("b", State::Healthy, 1)]);
        assert!(matches!(older, Verdict::Stuck(why) if why.contains("placed on b")));
        assert!(matches!(judged(&[]), Verdict::Stuck(_)));
    }

    #[test]
    fn r7_a_failure_is_one_only_when_nothing_moves_any_more() {
        assert_eq!(judged(&[("a", State::Failed, 2), ("b", State::Applying, 2)]), Verdict::Moving);
        assert_eq!(judged(&[("a", State::Degraded, 2), ("b", State::Healthy, 2)]), Verdict::Failing);
        let of_before = judged(&[("a", State::Degraded, 1), ("b", State::Healthy, 2)]);
        assert!(matches!(of_before, Verdict::Stuck(_)), "the failure of the revision before says nothing");
    }

    #[test]
    fn r7_a_cluster_that_is_not_heard_from_is_waited_for_and_named() {
        let verdict = judged(&[("a", State::Unknown, 2), ("b", State::Healthy, 2)]);
        assert!(matches!(verdict, Verdict::Stuck(why) if why.contains("Not heard from: a")));
    }

    #[test]
    fn what_left_the_workload_must_be_gone_too() {
        let with = |state| judged(&[("a", State::Healthy, 2), ("b", State::Healthy, 2), ("c", state, 1)]);
        assert_eq!(with(State::Removing), Verdict::Moving);
        assert_eq!(with(State::Removed), Verdict::Done);
    }

    #[test]
    fn a_removal_is_not_judged_before_it_begins() {
        let broken = target("a", State::Degraded, 1);
        let mut status = Status { target_clusters: vec![broken], ..Status::default() };
        assert_eq!(Goal::RunsNowhere.judge(&status), Verdict::Moving);
        status.target_clusters[0].sync = Sync::Removing;
        assert_eq!(Goal::RunsNowhere.judge(&status), Verdict::Failing);
        status.target_clusters[0].state = State::Removed;
        assert_eq!(Goal::RunsNowhere.judge(&status), Verdict::Done);
        assert_eq!(Goal::Forgotten.judge(&status), Verdict::Moving);
    }
}
