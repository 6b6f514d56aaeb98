//! Laws of the state machine, over arbitrary histories.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::stage::Trouble;
use super::tests::{at, bundle, new};
use super::*;
use crate::health::HealthStatus;
use crate::report::{Goal, ReleaseReport, StageReport};
use crate::workload::DriftPolicy;

/// Something that happens to a release.
#[derive(Debug, Clone)]
enum Event {
    Target {
        bundle: u8,
        drift: DriftPolicy,
    },
    TargetWithoutBundle,
    Remove(DeletionPolicy),
    Abandon,
    Reached(Reach),
    SyncNow,
    /// A report about a generation this far from the current one.
    Report {
        off: i64,
        report: Box<ReleaseReport>,
    },
}

fn any_state() -> impl Strategy<Value = StageState> {
    let trouble = || {
        prop::sample::select(vec!["ApplyFailed", "ResourceConflict", ""])
            .prop_map(|reason| Trouble { reason: reason.into(), ..Trouble::default() })
    };
    prop_oneof![
        Just(StageState::Pending),
        Just(StageState::Running { message: "busy".into() }),
        trouble().prop_map(StageState::Waiting),
        trouble().prop_map(StageState::Failed),
        Just(StageState::Skipped { message: "nothing to do".into() }),
        Just(StageState::Done),
    ]
}

/// Mostly well-behaved agents: some stages done, one on its way, the rest left out.
fn any_report() -> impl Strategy<Value = ReleaseReport> {
    let sync = prop::sample::select(vec![
        Sync::Synced,
        Sync::Synced,
        Sync::Drifted,
        Sync::Stale,
        Sync::Applying,
        Sync::Pending,
        Sync::Removing,
    ]);
    let health = prop_oneof![
        Just(HealthStatus::Healthy),
        Just(HealthStatus::Healthy),
        prop::sample::select(HealthStatus::ALL.to_vec())
    ];
    (0..=8_usize, any_state(), prop::option::of(0..3_u8), sync, health, prop::bool::weighted(0.3)).prop_map(
        |(done, next, applied, sync, health, gone)| {
            let agents = StageName::ALL.into_iter().filter(|name| name.is_agents());
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
                gone,
            }
        },
    )
}

fn any_event() -> impl Strategy<Value = Event> {
    let drift = prop::sample::select(vec![DriftPolicy::Revert, DriftPolicy::Notify]);
    let deletion = prop::sample::select(vec![DeletionPolicy::Foreground, DeletionPolicy::Orphan]);
    let reach = prop::sample::select(vec![Reach::Online, Reach::Late, Reach::Offline]);
    let off = prop_oneof![8 => Just(0), 1 => -2..0_i64, 1 => 1..3_i64];
    prop_oneof![
        3 => (0..3_u8, drift).prop_map(|(bundle, drift)| Event::Target { bundle, drift }),
        1 => Just(Event::TargetWithoutBundle),
        2 => deletion.prop_map(Event::Remove),
        1 => Just(Event::Abandon),
        2 => reach.prop_map(Event::Reached),
        1 => Just(Event::SyncNow),
        6 => (off, any_report()).prop_map(|(off, report)| Event::Report { off, report: Box::new(report) }),
    ]
}

fn any_history() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec(any_event(), 1..24)
}

fn target(release: &mut Release, to: u8, drift: DriftPolicy, now: Timestamp) -> bool {
    let policies = Policies { drift, ..Policies::default() };
    release.target(u32::from(to), Rendered::Bundle(bundle(to)), policies, now)
}

fn happen(release: &mut Release, event: &Event, now: Timestamp) {
    match event {
        Event::Target { bundle, drift } => {
            target(release, *bundle, *drift, now);
        }
        Event::TargetWithoutBundle => {
            let trouble = Trouble { reason: "RenderFailed".into(), ..Trouble::default() };
            release.target(9, Rendered::Failed(trouble), Policies::default(), now);
        }
        Event::Remove(deletion) => {
            release.remove(*deletion, "not wanted", now);
        }
        Event::Abandon => {
            release.abandon(now);
        }
        Event::Reached(reach) => {
            release.reached(*reach, now);
        }
        Event::SyncNow => release.sync_now(),
        Event::Report { off, report } => {
            // A refused report is part of the history.
            let _ = release.record(&about(release, report, *off), now);
        }
    }
}

fn about(release: &Release, report: &ReleaseReport, off: i64) -> ReleaseReport {
    ReleaseReport { generation: release.generation + off, ..report.clone() }
}

/// Runs a history; `look` sees the release before and after each event.
fn run(
    history: &[Event],
    mut look: impl FnMut(&Release, &Event, Timestamp, &Release) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut release = new();
    for (n, event) in (1..).zip(history) {
        let before = release.clone();
        happen(&mut release, event, at(n));
        look(&before, event, at(n), &release)?;
    }
    Ok(())
}

/// The release without the time of its last report.
fn timeless(release: &Release) -> Release {
    Release { reported_at: None, ..release.clone() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_generation_never_decreases_and_one_generation_is_one_want(history in any_history()) {
        let mut wants: BTreeMap<i64, Goal> = BTreeMap::new();
        run(&history, |before, _, _, after| {
            prop_assert!(after.generation >= before.generation);
            if let Some(want) = after.want("web") {
                // The number of the revision is only a label: the same bundle may be published again.
                let goal = match want.goal {
                    Goal::Present { bundle, policies, .. } => Goal::Present { bundle, policies, revision: 0 },
                    absent => absent,
                };
                prop_assert_eq!(wants.entry(want.generation).or_insert_with(|| goal.clone()), &goal);
            }
            Ok(())
        })?;
    }

    #[test]
    fn late_and_future_reports_change_nothing(history in any_history()) {
        run(&history, |before, event, _, after| {
            if matches!(event, Event::Report { off, .. } if *off != 0) {
                prop_assert_eq!(before, after);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_report_taken_twice_is_a_report_taken_once(history in any_history(), again in any_report()) {
        run(&history, |_, _, now, after| {
            let report = about(after, &again, 0);
            let mut once = after.clone();
            let taken = once.record(&report, now);
            let mut twice = once.clone();
            let second = twice.record(&report, now.plus_millis(1));
            prop_assert_eq!(timeless(&twice), timeless(&once));
            prop_assert!(taken.is_ok() || second == taken);
            Ok(())
        })?;
    }

    #[test]
    fn healthy_means_applied_as_released_and_every_stage_over(history in any_history()) {
        run(&history, |_, _, _, after| {
            if after.last_known_state() == State::Healthy {
                prop_assert!(after.released.is_some());
                prop_assert_eq!(&after.applied, &after.released);
                prop_assert!(after.stages.iter().all(|stage| stage.state.is_over()));
                prop_assert_eq!((after.health.status, after.sync), (HealthStatus::Healthy, Sync::Synced));
            }
            Ok(())
        })?;
    }

    #[test]
    fn going_offline_and_back_loses_nothing(history in any_history()) {
        run(&history, |_, _, now, after| {
            let mut back = after.clone();
            back.reached(Reach::Offline, now);
            prop_assert!(back.state() == State::Unknown || back.state().is_gone());
            back.reached(after.reach, now);
            prop_assert_eq!(Release { state_since: after.state_since, ..back }, after.clone());
            Ok(())
        })?;
    }

    #[test]
    fn what_is_gone_comes_back_only_when_it_is_targeted(history in any_history()) {
        run(&history, |before, event, _, after| {
            let targeted = matches!(event, Event::Target { .. } | Event::TargetWithoutBundle);
            if before.last_known_state().is_gone() && !targeted {
                prop_assert_eq!(&after.goal, &before.goal);
                prop_assert_eq!(after.want("web"), None);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_removal_of_what_was_never_sent_is_over_at_once(
        failures in 0..3_usize, deletion in prop::sample::select(vec![DeletionPolicy::Foreground, DeletionPolicy::Orphan]),
    ) {
        let mut release = new();
        for n in 0..failures {
            happen(&mut release, &Event::TargetWithoutBundle, at(n as i64));
        }
        prop_assert!(release.remove(deletion, "", at(9)));
        prop_assert_eq!(release.state(), State::Removed);
    }

    #[test]
    fn state_since_moves_exactly_when_the_word_changes(history in any_history()) {
        run(&history, |before, _, now, after| {
            let expected = if after.state() == before.state() { before.state_since } else { now };
            prop_assert_eq!(after.state_since, expected);
            Ok(())
        })?;
    }

    #[test]
    fn s4_5_the_same_bundle_with_the_same_policies_is_no_work(
        history in any_history(), to in 0..3_u8, drift in prop::sample::select(vec![DriftPolicy::Revert, DriftPolicy::Notify]),
    ) {
        run(&history, |_, _, now, after| {
            let mut release = after.clone();
            target(&mut release, to, drift, now);
            let once = release.clone();
            prop_assert!(!target(&mut release, to, drift, now.plus_millis(1)));
            prop_assert_eq!(&release, &once);
            prop_assert_eq!(&once.desired, &once.released);
            Ok(())
        })?;
    }

    #[test]
    fn stages_have_the_times_that_fit_their_states(history in any_history()) {
        run(&history, |_, _, _, after| {
            for stage in after.stages.iter() {
                prop_assert_eq!(stage.started_at.is_some(), stage.state != StageState::Pending, "{:?}", stage);
                prop_assert_eq!(stage.finished_at.is_some(), stage.state.is_over(), "{:?}", stage);
                prop_assert!(stage.finished_at.is_none_or(|end| Some(end) >= stage.started_at), "{:?}", stage);
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_release_reads_back_from_its_json_and_always_has_a_sentence(history in any_history()) {
        run(&history, |_, _, _, after| {
            let json = serde_json::to_string(after).unwrap();
            prop_assert_eq!(&serde_json::from_str::<Release>(&json).unwrap(), after);
            let silent = after.message().is_empty();
            // A healthy release needs none; everything else says why, unless the agent gave no reason.
            prop_assert!(!silent || after.stages.current().is_none_or(|s| s.state.trouble().is_some()));
            Ok(())
        })?;
    }
}
