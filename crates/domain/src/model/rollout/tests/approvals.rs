//! Approvals of the result of a wave.

use super::*;
use crate::model::project::PublishApproval;

fn with_result_approval() -> Rollout {
    rollout(strategy(json!([{ "name": "dev", "soak": "10m", "approvalAfter": true }, { "name": "prod" }])))
}

fn reconcile(rollout: &mut Rollout, counts: &[WaveCounts], at: Timestamp) -> RolloutStep {
    rollout.reconcile(counts, at, &Pauses::default())
}

#[test]
fn s2_5_the_next_wave_starts_after_the_result_of_the_one_before_is_approved() {
    let mut rollout = with_result_approval();
    let done = [wave_counts(0, 0, 2), wave_counts(3, 0, 0)];
    reconcile(&mut rollout, &done, NOW);
    assert_eq!(rollout.state, RolloutState::Soaking { until: minutes(10) });
    assert!(rollout.apply_action(RolloutAction::Approve, "ben", NOW).is_err(), "there is no result yet");
    let step = reconcile(&mut rollout, &done, minutes(10));
    assert_eq!((&rollout.state, step.admission), (&RolloutState::AwaitingResultApproval, None));
    let text = "web revision 4: Wave 1 of 2 (dev) is operational; its result waits for approval.";
    assert_eq!(event_messages(&step, minutes(10)), [text]);
    assert_eq!(
        reconcile(&mut rollout, &done, minutes(600)).events,
        [],
        "it waits without limit, and quietly"
    );
    rollout.apply_action(RolloutAction::Pause, "ann", minutes(601)).unwrap();
    rollout.apply_action(RolloutAction::Resume, "ann", minutes(602)).unwrap();
    reconcile(&mut rollout, &done, minutes(602));
    assert_eq!(rollout.state, RolloutState::AwaitingResultApproval, "resuming is no approval");
    rollout.apply_action(RolloutAction::Approve, "ben", minutes(603)).unwrap();
    let step = reconcile(&mut rollout, &done, minutes(603));
    assert_eq!(step.admission, Some(Admission { wave: 1, limit: 3 }));
    let approval = rollout.wave_approval(1).unwrap();
    assert_eq!(
        (approval.by.as_str(), approval.wave.as_str(), approval.at),
        ("ben", "the result of wave 1 of 2 (dev)", Some(minutes(603)))
    );
    assert_eq!(rollout.wave_approval(0), None, "it was delivered without an approval");
}

#[test]
fn s2_5_an_approval_is_of_the_result_that_was_there() {
    let mut rollout = with_result_approval();
    let done = [wave_counts(0, 0, 2), wave_counts(3, 0, 0)];
    reconcile(&mut rollout, &done, NOW);
    reconcile(&mut rollout, &done, minutes(10));
    rollout.apply_action(RolloutAction::Approve, "ben", minutes(11)).unwrap();
    let moving = [wave_counts(0, 1, 1), wave_counts(3, 0, 0)];
    assert_eq!(reconcile(&mut rollout, &moving, minutes(11)).admission, None);
    reconcile(&mut rollout, &done, minutes(12));
    reconcile(&mut rollout, &done, minutes(22));
    assert_eq!(rollout.state, RolloutState::AwaitingResultApproval);
    let failing = [WaveCounts { operational: 1, failing: 1, ..WaveCounts::default() }, wave_counts(3, 0, 0)];
    reconcile(&mut rollout, &failing, minutes(23));
    assert!(rollout.is_auto_paused(), "{:?}", rollout.state);
}

#[test]
fn s2_5_after_the_last_wave_the_approval_completes_the_rollout_and_is_by_another_user_if_required() {
    let mut strategy = strategy(json!([{ "name": "all", "approvalAfter": true }]));
    strategy.approver = Approver::AnotherUser;
    assert_eq!(check(&strategy), []);
    let mut rollout = Rollout { published_by: "ann".into(), ..rollout(strategy) };
    let done = [wave_counts(0, 0, 2)];
    reconcile(&mut rollout, &done, NOW);
    assert_eq!(
        rollout.message(NOW),
        "Wave 1 of 1 (all) is operational; its result waits for the approval of a user other than ann."
    );
    assert!(rollout.apply_action(RolloutAction::Approve, "ann", NOW).is_err());
    rollout.apply_action(RolloutAction::Approve, "ben", NOW).unwrap();
    reconcile(&mut rollout, &done, NOW);
    assert_eq!(rollout.state, RolloutState::Completed);
}

#[test]
fn s2_5_what_the_project_requires_is_added_to_every_strategy() {
    let mut at_once = RolloutStrategy::default();
    at_once.require_approval(PublishApproval::None);
    assert!(at_once.is_at_once());
    at_once.require_approval(PublishApproval::AnotherUser);
    let first = &at_once.waves[0];
    assert_eq!((at_once.waves.len(), first.approval, at_once.approver), (1, true, Approver::AnotherUser));
    let mut waves = canary();
    waves.require_approval(PublishApproval::Anyone);
    assert_eq!((waves.waves[0].approval, waves.waves[1].approval), (true, false));
    assert_eq!(waves.approver, Approver::Anyone);

    // After the approval it behaves as without waves: what fails or is deferred holds nothing.
    let mut rollout = Rollout { published_by: "ann".into(), ..rollout(at_once) };
    assert_eq!(rollout.state, RolloutState::AwaitingApproval);
    let gated = [wave_counts(3, 0, 0)];
    assert_eq!(reconcile(&mut rollout, &gated, NOW).admission, None);
    assert!(!rollout.is_approved());
    rollout.apply_action(RolloutAction::Approve, "ben", NOW).unwrap();
    assert_eq!(reconcile(&mut rollout, &gated, NOW).admission, Some(Admission { wave: 0, limit: 3 }));
    let broken = [WaveCounts { failing: 2, deferred: 1, ..WaveCounts::default() }];
    reconcile(&mut rollout, &broken, NOW);
    assert_eq!((rollout.state, rollout.waves[0].approved_at), (RolloutState::Completed, Some(NOW)));
}
