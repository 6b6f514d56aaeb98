//! Properties of the state machine, over arbitrary histories.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::stage::StageReason;
use super::tests::{at, bundle, new_release};
use super::*;
use crate::model::health::HealthStatus;
use crate::model::report::{DesiredPhase, ReleaseReport, StageReport};
use crate::model::workload::DriftPolicy;

/// An event of a release.
#[derive(Debug, Clone)]
enum ReleaseEvent {
    Target {
        bundle: u8,
        drift: DriftPolicy,
    },
    TargetWithoutBundle,
    Gate {
        bundle: u8,
        drift: DriftPolicy,
    },
    Await {
        bundle: u8,
        drift: DriftPolicy,
    },
    Admit(DriftPolicy),
    AbortRollout,
    RollBackFailing,
    RollBackWithRollout,
    RetryRolledBack,
    Suspend,
    HoldSuspended {
        bundle: u8,
        drift: DriftPolicy,
    },
    Resume,
    Remove(DeletionPolicy),
    Abandon,
    ConnectivityChanged(Connectivity),
    SyncRequested,
    /// A report whose generation differs by `off` from the current one.
    Report {
        off: i64,
        report: Box<ReleaseReport>,
    },
}

fn any_state() -> impl Strategy<Value = StageState> {
    let stage_reason = || {
        prop::sample::select(vec![Reason::Invalid, Reason::ResourceConflict, Reason::Unspecified])
            .prop_map(|reason| StageReason::new(reason, ""))
    };
    prop_oneof![
        Just(StageState::Pending),
        Just(StageState::Running { message: "busy".into() }),
        stage_reason().prop_map(StageState::Waiting),
        stage_reason().prop_map(StageState::Failed),
        Just(StageState::Skipped { message: "nothing to do".into() }),
        Just(StageState::Done),
    ]
}

/// A mostly plausible report: some stages done, one in progress, the rest left out.
fn any_report() -> impl Strategy<Value = ReleaseReport> {
    let sync = prop::sample::select(vec![
        SyncStatus::Synced,
        SyncStatus::Synced,
        SyncStatus::Drifted,
        SyncStatus::Stale,
        SyncStatus::Applying,
        SyncStatus::Pending,
        SyncStatus::Removing,
    ]);
    let health = prop_oneof![
        Just(HealthStatus::Healthy),
        Just(HealthStatus::Healthy),
        prop::sample::select(HealthStatus::ALL.to_vec())
    ];
    (0..=8_usize, any_state(), prop::option::of(0..3_u8), sync, health, prop::bool::weighted(0.3)).prop_map(
        |(done, next, applied, sync, health, gone)| {
            let agents = StageName::ALL.iter().copied().filter(|name| name.is_reported_by_agent());
            let states = std::iter::repeat_n(StageState::Done, done).chain([next]);
            ReleaseReport {
                release: ReleaseId::from_parts(1, 1),
                generation: 0,
                applied: applied.map(bundle),
                stages: agents.zip(states).map(|(name, state)| StageReport { name, state }).collect(),
                sync,
                health: Health::new(health, "", ""),
                resources: Vec::new(),
                drift: Vec::new(),
                drift_omitted: 0,
                removed: gone,
            }
        },
    )
}

fn any_event() -> impl Strategy<Value = ReleaseEvent> {
    let drift = prop::sample::select(vec![DriftPolicy::Revert, DriftPolicy::Notify]);
    let deletion = prop::sample::select(vec![DeletionPolicy::Foreground, DeletionPolicy::Orphan]);
    let reach = prop::sample::select(vec![Connectivity::Online, Connectivity::Late, Connectivity::Offline]);
    let off = prop_oneof![8 => Just(0), 1 => -2..0_i64, 1 => 1..3_i64];
    prop_oneof![
        3 => (0..3_u8, drift.clone()).prop_map(|(bundle, drift)| ReleaseEvent::Target { bundle, drift }),
        1 => Just(ReleaseEvent::TargetWithoutBundle),
        2 => (0..3_u8, drift.clone()).prop_map(|(bundle, drift)| ReleaseEvent::Gate { bundle, drift }),
        2 => (0..3_u8, drift.clone()).prop_map(|(bundle, drift)| ReleaseEvent::Await { bundle, drift }),
        1 => drift.clone().prop_map(ReleaseEvent::Admit),
        1 => Just(ReleaseEvent::AbortRollout),
        2 => Just(ReleaseEvent::RollBackFailing),
        1 => Just(ReleaseEvent::RollBackWithRollout),
        1 => Just(ReleaseEvent::RetryRolledBack),
        2 => Just(ReleaseEvent::Suspend),
        2 => (0..3_u8, drift.clone()).prop_map(|(bundle, drift)| ReleaseEvent::HoldSuspended { bundle, drift }),
        2 => Just(ReleaseEvent::Resume),
        2 => deletion.prop_map(ReleaseEvent::Remove),
        1 => Just(ReleaseEvent::Abandon),
        2 => reach.prop_map(ReleaseEvent::ConnectivityChanged),
        1 => Just(ReleaseEvent::SyncRequested),
        6 => (off, any_report()).prop_map(|(off, report)| ReleaseEvent::Report { off, report: Box::new(report) }),
    ]
}

fn any_history() -> impl Strategy<Value = Vec<ReleaseEvent>> {
    prop::collection::vec(any_event(), 1..24)
}

fn policies(drift: DriftPolicy) -> Policies {
    Policies { drift, ..Policies::default() }
}

fn set_bundle(release: &mut Release, to: u8, drift: DriftPolicy, now: Timestamp) -> bool {
    release.set_desired_revision(u32::from(to), RenderOutcome::Bundle(bundle(to)), policies(drift), now)
}

fn next_revision(to: u8, drift: DriftPolicy) -> DesiredRevision {
    DesiredRevision {
        revision: u32::from(to),
        outcome: RenderOutcome::Bundle(bundle(to)),
        policies: policies(drift),
    }
}

fn apply_event(release: &mut Release, event: &ReleaseEvent, now: Timestamp) {
    match event {
        ReleaseEvent::Target { bundle, drift } => {
            set_bundle(release, *bundle, *drift, now);
        }
        ReleaseEvent::TargetWithoutBundle => {
            let stage_reason = StageReason::new(Reason::RenderFailed, "");
            release.set_desired_revision(9, RenderOutcome::Failed(stage_reason), Policies::default(), now);
        }
        ReleaseEvent::Gate { bundle, drift } => {
            release.set_wave(Some(1));
            release.gate_revision(next_revision(*bundle, *drift), "Waits for wave 2.", now);
        }
        ReleaseEvent::Await { bundle, drift } => {
            release.await_dependency(next_revision(*bundle, *drift), "Waits for db on east.", now);
        }
        ReleaseEvent::Admit(drift) => {
            release.admit(policies(*drift), now);
        }
        ReleaseEvent::AbortRollout => {
            release.end_gate("The rollout was aborted.", now);
        }
        ReleaseEvent::RollBackFailing => {
            release.roll_back_failing(now);
        }
        ReleaseEvent::RollBackWithRollout => {
            release.roll_back_with_rollout("1 of 2 clusters fails.", now);
        }
        ReleaseEvent::RetryRolledBack => {
            release.retry_rolled_back(now);
        }
        ReleaseEvent::Suspend => {
            release.suspend("Suspended by ann.", now);
        }
        ReleaseEvent::HoldSuspended { bundle, drift } => {
            release.hold_suspended(next_revision(*bundle, *drift), "Suspended by ben.", now);
        }
        ReleaseEvent::Resume => {
            release.resume(now);
        }
        ReleaseEvent::Remove(deletion) => {
            release.remove(*deletion, "unpublished", now);
        }
        ReleaseEvent::Abandon => {
            release.abandon(now);
        }
        ReleaseEvent::ConnectivityChanged(reach) => {
            release.set_connectivity(*reach, now);
        }
        ReleaseEvent::SyncRequested => release.request_sync(),
        ReleaseEvent::Report { off, report } => {
            // A rejected report is part of the history.
            let _ = release.apply_report(&report_about(release, report, *off), now);
        }
    }
}

fn report_about(release: &Release, report: &ReleaseReport, off: i64) -> ReleaseReport {
    ReleaseReport { generation: release.generation + off, ..report.clone() }
}

/// Runs a history; `check` gets the release before and after each event.
fn run_history(
    history: &[ReleaseEvent],
    mut check: impl FnMut(&Release, &ReleaseEvent, Timestamp, &Release) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut release = new_release();
    for (n, event) in (1..).zip(history) {
        let before = release.clone();
        apply_event(&mut release, event, at(n));
        check(&before, event, at(n), &release)?;
    }
    Ok(())
}

/// The release without the time of its last report.
fn without_report_time(release: &Release) -> Release {
    Release { reported_at: None, ..release.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_generation_never_decreases_and_has_one_desired_phase(history in any_history()) {
        let mut desired_by_generation: BTreeMap<i64, DesiredPhase> = BTreeMap::new();
        run_history(&history, |before, _, _, after| {
            prop_assert!(after.generation >= before.generation);
            if let Some(desired) = after.desired_release("web") {
                // The revision number is only a label: the same bundle may be published again.
                let goal = match desired.phase {
                    DesiredPhase::Present { bundle, policies, .. } => DesiredPhase::Present { bundle, policies, revision: 0 },
                    absent => absent,
                };
                prop_assert_eq!(desired_by_generation.entry(desired.generation).or_insert_with(|| goal.clone()), &goal);
            }
            Ok(())
        })?;
    }

    #[test]
    fn late_and_future_reports_change_nothing(history in any_history()) {
        run_history(&history, |before, event, _, after| {
            if matches!(event, ReleaseEvent::Report { off, .. } if *off != 0) {
                prop_assert_eq!(before, after);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_repeated_report_changes_nothing(history in any_history(), again in any_report()) {
        run_history(&history, |_, _, now, after| {
            let report = report_about(after, &again, 0);
            let mut once = after.clone();
            let first = once.apply_report(&report, now);
            let mut twice = once.clone();
            let second = twice.apply_report(&report, now.plus_millis(1));
            prop_assert_eq!(without_report_time(&twice), without_report_time(&once));
            prop_assert!(first.is_ok() || second == first);
            Ok(())
        })?;
    }

    #[test]
    fn healthy_means_applied_as_released_and_every_stage_finished(history in any_history()) {
        run_history(&history, |_, _, _, after| {
            if after.last_known_state() == ReleaseState::Healthy {
                prop_assert!(after.released.is_some());
                prop_assert_eq!(&after.applied, &after.released);
                prop_assert!(after.stages.iter().all(|stage| stage.state.is_finished()));
                prop_assert_eq!((after.health.status, after.sync), (HealthStatus::Healthy, SyncStatus::Synced));
            }
            Ok(())
        })?;
    }

    #[test]
    fn the_gate_matches_the_stage_released(history in any_history()) {
        run_history(&history, |_, _, _, after| {
            let released = after.stages.get(StageName::Released);
            let shown = released.ended.as_ref().filter(|_| after.is_suspended()).unwrap_or(&released.state);
            let reason = shown.reason().map(|reason| &reason.reason);
            let expected = match reason.filter(|_| after.goal == ReleaseGoal::Present) {
                Some(Reason::WaitingForWave) => Gate::Closed,
                Some(Reason::RolloutAborted) => Gate::Aborted,
                Some(Reason::RolledBack) => Gate::RolledBack,
                _ => Gate::Open,
            };
            // What is removed is rolled back, or its gate is open again.
            let is_removal_rolled_back = after.gate == Gate::RolledBack
                && after.goal != ReleaseGoal::Present
                && reason == Some(&Reason::RolledBack);
            prop_assert!(after.gate == expected || is_removal_rolled_back, "{:?}", after);
            prop_assert!(after.gate == Gate::Open || after.desired.is_some());
            Ok(())
        })?;
    }

    #[test]
    fn going_offline_and_back_loses_nothing(history in any_history()) {
        run_history(&history, |_, _, now, after| {
            let mut back = after.clone();
            back.set_connectivity(Connectivity::Offline, now);
            prop_assert!(back.state() == ReleaseState::Unknown || back.state().is_gone());
            back.set_connectivity(after.connectivity, now);
            prop_assert_eq!(Release { state_since: after.state_since, ..back }, after.clone());
            Ok(())
        })?;
    }

    #[test]
    fn a_gone_release_returns_only_when_it_is_targeted(history in any_history()) {
        run_history(&history, |before, event, _, after| {
            let targeted = matches!(
                event,
                ReleaseEvent::Target { .. }
                    | ReleaseEvent::TargetWithoutBundle
                    | ReleaseEvent::Gate { .. }
                    | ReleaseEvent::Await { .. }
                    | ReleaseEvent::HoldSuspended { .. }
                    | ReleaseEvent::RetryRolledBack
            );
            if before.last_known_state().is_gone() && !targeted {
                prop_assert_eq!(&after.goal, &before.goal);
                prop_assert_eq!(after.desired_release("web"), None);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_removal_of_a_release_that_was_never_sent_completes_immediately(
        failures in 0..3_usize, deletion in prop::sample::select(vec![DeletionPolicy::Foreground, DeletionPolicy::Orphan]),
    ) {
        let mut release = new_release();
        for n in 0..failures {
            apply_event(&mut release, &ReleaseEvent::TargetWithoutBundle, at(n as i64));
        }
        prop_assert!(release.remove(deletion, "", at(9)));
        prop_assert_eq!(release.state(), ReleaseState::Removed);
    }

    #[test]
    fn state_since_changes_exactly_when_the_state_changes(history in any_history()) {
        run_history(&history, |before, _, now, after| {
            let expected = if after.state() == before.state() { before.state_since } else { now };
            prop_assert_eq!(after.state_since, expected);
            Ok(())
        })?;
    }

    #[test]
    fn s4_5_the_same_bundle_with_the_same_policies_changes_nothing(
        history in any_history(), to in 0..3_u8, drift in prop::sample::select(vec![DriftPolicy::Revert, DriftPolicy::Notify]),
    ) {
        run_history(&history, |_, _, now, after| {
            let mut release = after.clone();
            set_bundle(&mut release, to, drift, now);
            let once = release.clone();
            prop_assert!(!set_bundle(&mut release, to, drift, now.plus_millis(1)));
            prop_assert_eq!(&release, &once);
            prop_assert_eq!(&once.desired, &once.released);
            Ok(())
        })?;
    }

    #[test]
    fn the_times_of_a_stage_match_its_state(history in any_history()) {
        run_history(&history, |_, _, _, after| {
            for stage in after.stages.iter() {
                prop_assert_eq!(stage.started_at.is_some(), stage.state != StageState::Pending, "{:?}", stage);
                prop_assert_eq!(stage.finished_at.is_some(), stage.state.is_finished(), "{:?}", stage);
                prop_assert!(stage.finished_at.is_none_or(|end| Some(end) >= stage.started_at), "{:?}", stage);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_release_round_trips_through_json_and_has_a_message(history in any_history()) {
        run_history(&history, |_, _, _, after| {
            let json = serde_json::to_string(after).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Release>(&json).unwrap(), after);
            let silent = after.message().is_empty();
            // A healthy release has no message; any other has one.
            prop_assert!(!silent || after.stages.current().is_none());
            Ok(())
        })?;
    }
}
