//! Clusters that do not report: offline before or after their admission, late, or not observed by the hub.

use super::*;

fn one_silent(failing: u32, recently_failing: u32) -> WaveCounts {
    let since = (recently_failing > 0).then_some(NOW);
    WaveCounts {
        failing,
        recently_failing,
        silent: 1,
        recently_failing_since: since,
        ..WaveCounts::default()
    }
}

#[test]
fn p29_a_canary_that_goes_offline_after_its_admission_never_opens_the_next_wave() {
    let mut rollout = rollout(canary());
    let rest = wave_counts(4, 0, 0);
    rollout.reconcile(&[wave_counts(0, 1, 0), rest.clone()], NOW, &Pauses::default());
    let step = rollout.reconcile(&[one_silent(0, 1), rest.clone()], NOW, &Pauses::default());
    assert_eq!((&rollout.state, step.admission), (&RolloutState::Running, None));
    assert_eq!((step.next_step_at, rollout.waves[0].silent), (Some(minutes(1)), 1));
    let step = rollout.reconcile(&[one_silent(1, 0), rest], minutes(1), &Pauses::default());
    assert_eq!((rollout.wave, step.admission), (0, None));
    assert_eq!(
        rollout.message(minutes(1)),
        "Paused automatically at wave 1 of 2 (canary): 1 of 1 cluster fails in wave canary (1 went offline after the \
         admission); the limit is 0."
    );
}

#[test]
fn s2_2_a_rollout_can_be_retried_while_a_cluster_that_reports_is_failing() {
    let mut rollout = rollout(canary());
    let rest = wave_counts(4, 0, 0);
    rollout.reconcile(&[one_silent(1, 0), rest.clone()], NOW, &Pauses::default());
    let why = rollout.apply_action(RolloutAction::Retry, "ann", NOW).unwrap_err();
    assert!(why.to_string().contains("none of its clusters that report is failing"), "{why}");
    let failing = WaveCounts { failing: 1, ..WaveCounts::default() };
    rollout.reconcile(&[failing, rest], minutes(1), &Pauses::default());
    let before = rollout.clone();
    rollout.apply_action(RolloutAction::Retry, "ann", minutes(2)).unwrap();
    assert_eq!(rollout, before, "a retry resumes nothing");
    rollout.apply_action(RolloutAction::Abort, "ann", minutes(3)).unwrap();
    assert!(rollout.check_action(RolloutAction::Retry).unwrap_err().to_string().contains("is aborted"));
}

#[test]
fn p29_a_wave_with_more_deferred_clusters_than_its_limit_waits_and_shows_why() {
    let mut rollout = rollout(canary());
    let (offline, rest) = (WaveCounts { deferred: 1, ..WaveCounts::default() }, wave_counts(4, 0, 0));
    let step = rollout.reconcile(&[offline.clone(), rest.clone()], NOW, &Pauses::default());
    assert_eq!(rollout.state, RolloutState::AwaitingClusters { deferred: 1, limit: 0 });
    assert_eq!(step.admission, None);
    assert_eq!(
        event_messages(&step, NOW),
        [
            "web revision 4: Wave 1 of 2 (canary) waits. 1 cluster is offline or waits for a value; the limit is 0."
        ]
    );
    let step = rollout.reconcile(&[offline.clone(), rest.clone()], minutes(60), &Pauses::default());
    assert_eq!((step.admission, step.events), (None, vec![]), "it never continues by itself");

    let mut returned = rollout.clone();
    returned.reconcile(&[wave_counts(0, 0, 1), rest.clone()], minutes(61), &Pauses::default());
    assert_eq!(returned.state, RolloutState::Soaking { until: minutes(71) });

    rollout.apply_action(RolloutAction::Promote, "ann", minutes(61)).unwrap();
    let step = rollout.reconcile(&[offline, rest], minutes(61), &Pauses::default());
    assert_eq!(step.admission, Some(Admission { wave: 1, limit: 2 }), "a person continues without it");
}

#[test]
fn by_default_a_fifth_of_a_wave_may_be_deferred_and_no_canary() {
    let limit = |wave: usize, clusters| canary().waves[wave].deferral_limit(clusters, wave == 0);
    assert_eq!([limit(0, 1), limit(0, 100), limit(1, 4), limit(1, 10)], [0, 0, 0, 2]);
    let mut wave = canary().waves.remove(0);
    wave.max_deferred = Some(CountOrPercent::Percent(50));
    assert_eq!(wave.deferral_limit(3, true), 1);
    // Text that is no amount allows none; G511 reports it.
    wave.max_deferred = Some(CountOrPercent::Invalid("some".into()));
    assert_eq!(wave.deferral_limit(100, false), 0);
}

#[test]
fn p29_a_late_cluster_keeps_its_wave_from_completion_after_the_soak_time() {
    let mut rollout = rollout(canary());
    let rest = wave_counts(4, 0, 0);
    let late = WaveCounts { late: 1, ..wave_counts(0, 0, 1) };
    rollout.reconcile(&[wave_counts(0, 0, 1), rest.clone()], NOW, &Pauses::default());
    rollout.reconcile(&[late.clone(), rest.clone()], minutes(9), &Pauses::default());
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(10) });
    let step = rollout.reconcile(&[late, rest.clone()], minutes(10), &Pauses::default());
    assert_eq!((rollout.wave, step.admission), (0, None));
    rollout.reconcile(&[wave_counts(0, 0, 1), rest], minutes(11), &Pauses::default());
    assert_eq!(rollout.wave, 1, "its heartbeat arrived; it has soaked");
}

#[test]
fn p29_a_pause_of_the_hub_is_no_soak_time_and_no_failure() {
    let mut rollout = rollout(canary());
    let rest = wave_counts(4, 0, 0);
    rollout.reconcile(&[wave_counts(0, 0, 1), rest.clone()], NOW, &Pauses::default());
    let mut pauses = Pauses::default();
    pauses.record(minutes(4), minutes(60));
    let step = rollout.reconcile(&[wave_counts(0, 0, 1), rest.clone()], minutes(60), &pauses);
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(66) });
    assert_eq!((step.admission, step.events), (None, vec![]));
    let step = rollout.reconcile(&[one_silent(0, 1), rest], minutes(60), &pauses);
    assert_eq!(step.next_step_at, Some(minutes(1)), "before the pause it was observed for long enough");
}
