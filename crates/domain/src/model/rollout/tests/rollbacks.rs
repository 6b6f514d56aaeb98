//! What happens when clusters fail.

use super::*;

fn on_failure(on_failure: OnFailure) -> Rollout {
    let waves = json!([{ "name": "dev" }, { "name": "prod" }, { "name": "rest" }]);
    rollout(RolloutStrategy { on_failure, ..strategy(waves) })
}

/// All of dev is operational, and one of the two admitted clusters of prod fails.
fn second_wave_fails() -> [WaveCounts; 3] {
    let prod = WaveCounts { operational: 1, failing: 1, ..WaveCounts::default() };
    [wave_counts(0, 0, 2), prod, wave_counts(4, 0, 0)]
}

fn fail_second_wave(rollout: &mut Rollout) -> RolloutStep {
    rollout.reconcile(
        &[wave_counts(0, 0, 2), wave_counts(2, 0, 0), wave_counts(4, 0, 0)],
        NOW,
        &Pauses::default(),
    );
    assert_eq!((rollout.wave, &rollout.state), (1, &RolloutState::Running));
    rollout.reconcile(&second_wave_fails(), minutes(5), &Pauses::default())
}

const WHY: &str = "1 of 2 clusters fails in wave prod; the limit is 0.";

#[test]
fn f4b_a_pause_is_the_default_of_what_happens_on_failure() {
    assert!(canary().on_failure.is_pause());
    let mut rollout = on_failure(OnFailure::default());
    let step = fail_second_wave(&mut rollout);
    assert_eq!((rollout.state, step.roll_back), (RolloutState::AutoPaused { message: WHY.into() }, None));
}

#[test]
fn f4b_a_rollback_of_the_wave_leaves_the_waves_before_it() {
    let mut rollout = on_failure(OnFailure::RollbackWave);
    let step = fail_second_wave(&mut rollout);
    assert_eq!((step.roll_back, step.admission), (Some(1), None));
    assert_eq!(
        event_messages(&step, minutes(5)),
        [format!("web revision 4: the rollout is being rolled back. {WHY}")]
    );
    assert!(rollout.state.is_active() && rollout.check_action(RolloutAction::Resume).is_err());
    let labels = |rollout: &Rollout| [0, 1, 2].map(|at| rollout.wave_label(at));
    assert_eq!(labels(&rollout), ["Done", "Rolling back", "Not started"]);
    // The step is repeated until the caller has finished it.
    let again = rollout.reconcile(&second_wave_fails(), minutes(6), &Pauses::default());
    assert_eq!((again.roll_back, again.events), (Some(1), Vec::new()));
    let event = rollout.finish_rollback(minutes(7)).unwrap();
    assert_eq!(event.severity(), crate::text::finding::Severity::Warning);
    assert!(rollout.finish_rollback(minutes(8)).is_none(), "once");
    assert_eq!(labels(&rollout), ["Done", "Rolled back", "Not started"]);
    assert_eq!(
        rollout.message(minutes(9)),
        format!(
            "Rolled back wave 2 of 3 (prod): {WHY} The clusters stay at the revision of before until the next publish."
        )
    );
    let step = rollout.reconcile(&second_wave_fails(), minutes(9), &Pauses::default());
    assert!(step.end_gates && step.admission.is_none());
    assert_eq!(step.roll_back, Some(1), "of clusters that were suspended meanwhile");
    assert!(rollout.state.needs_attention() && !rollout.state.is_active());
    for verb in RolloutAction::ALL {
        assert!(rollout.check_action(*verb).is_err(), "{verb:?}");
    }
    rollout.supersede(minutes(10));
    assert_eq!(rollout.state, RolloutState::Superseded);
}

#[test]
fn f4b_a_rollback_of_all_includes_the_waves_that_were_complete() {
    let mut rollout = on_failure(OnFailure::RollbackAll);
    let step = fail_second_wave(&mut rollout);
    assert_eq!(step.roll_back, Some(0));
    assert_eq!(rollout.message(minutes(5)), format!("Rolling back waves 1 to 2 of 3: {WHY}"));
    assert_eq!(rollout.wave_label(0), "Rolling back");
    rollout.apply_action(RolloutAction::Abort, "ann", minutes(6)).unwrap();
    assert_eq!(rollout.state, RolloutState::Aborted { by: "ann".into() });
}

#[test]
fn f4b_a_rollout_that_continues_reports_the_failures_of_a_wave_once() {
    let mut rollout = on_failure(OnFailure::Continue);
    let codes: Vec<String> = check(&rollout.strategy).into_iter().map(|finding| finding.code).collect();
    assert!(codes.contains(&"G512".to_owned()), "{codes:?}");
    let step = fail_second_wave(&mut rollout);
    assert_eq!((rollout.wave, step.admission), (2, Some(Admission { wave: 2, limit: 4 })));
    let accepted = format!("web revision 4: {WHY} The rollout continues in spite of that.");
    assert_eq!(event_messages(&step, minutes(5))[0], accepted);
    assert_eq!(rollout.waves[1].exceeded_at, Some(minutes(5)));
    let step = rollout.reconcile(&second_wave_fails(), minutes(6), &Pauses::default());
    assert!(!event_messages(&step, minutes(6)).contains(&accepted), "once");
}

#[test]
fn s1_10_a_cluster_that_was_rolled_back_by_itself_stays_a_failure_of_its_wave_until_it_is_accepted() {
    let mut rollout = on_failure(OnFailure::RollbackCluster);
    let prod = WaveCounts { operational: 1, rolled_back: 1, ..WaveCounts::default() };
    let counts = [wave_counts(0, 0, 2), prod, wave_counts(4, 0, 0)];
    let step = rollout.reconcile(&counts, NOW, &Pauses::default());
    assert_eq!((&rollout.state, step.roll_back), (&RolloutState::AutoPaused { message: WHY.into() }, None));
    assert!(rollout.rolls_back_clusters(), "others may fail while it is paused");
    assert!(rollout.check_action(RolloutAction::Retry).is_err(), "it does not run there any more");
    rollout.apply_action(RolloutAction::Resume, "ann", minutes(1)).unwrap();
    let step = rollout.reconcile(&counts, minutes(1), &Pauses::default());
    assert_eq!((rollout.wave, step.admission), (2, Some(Admission { wave: 2, limit: 4 })));
    rollout.apply_action(RolloutAction::Abort, "ann", minutes(2)).unwrap();
    assert!(!rollout.rolls_back_clusters());
}
