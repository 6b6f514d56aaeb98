//! Clusters on which a revision fails and is rolled back.

use super::*;

/// Healthy with the first bundle, and failing with the second.
fn failing_upgrade() -> Release {
    let mut release = healthy_release();
    let policies = Policies { deletion: DeletionPolicy::Orphan, ..Policies::default() };
    assert!(release.set_desired_revision(2, RenderOutcome::Bundle(bundle(2)), policies, at(5)));
    let failed = StageState::Failed(stage_reason(Reason::AdmissionRejected, "no web here"));
    let reported = ReleaseReport { applied: Some(bundle(1)), ..report(&release, StageName::Applied, failed) };
    release.apply_report(&reported, at(6)).unwrap();
    assert_eq!(release.state(), ReleaseState::Failed);
    release
}

#[test]
fn s1_10_a_failing_upgrade_returns_to_the_bundle_before_with_its_policies_and_stays_failed() {
    let mut release = failing_upgrade();
    let generation = release.generation;
    assert!(release.roll_back_failing(at(70)));
    assert!(!release.roll_back_failing(at(71)), "once");
    assert!(!release.roll_back_with_rollout("1 of 2 clusters fails.", at(71)), "once");
    let sent = release.desired_release("web").unwrap();
    let phase = DesiredPhase::Present { bundle: bundle(1), revision: 1, policies: Policies::default() };
    assert_eq!((sent.generation, sent.phase), (generation + 1, phase));
    assert!(release.is_rolling_back());

    release.apply_report(&operational_report(&release), at(72)).unwrap();
    let cause = "Revision 2 failed here, and it was rolled back to revision 1. no web here";
    assert_state(&release, ReleaseState::Failed, cause);
    assert!(!release.is_rolling_back());
    assert_eq!((release.applied_revision(), release.desired.clone()), (Some(1), Some(bundle(2))));
    assert_eq!(release.health.status, HealthStatus::Healthy, "what runs is healthy");
    let stored = serde_json::to_value(&release).unwrap();
    assert_eq!(serde_json::from_value::<Release>(stored).unwrap(), release);
}

#[test]
fn s1_10_a_failing_first_installation_is_removed() {
    let failed = StageState::Failed(stage_reason(Reason::AdmissionRejected, "no web here"));
    let mut release = release_after(|release| report(release, StageName::Applied, failed));
    assert!(release.roll_back_failing(at(70)));
    let sent = release.desired_release("web").unwrap();
    assert!(matches!(sent.phase, DesiredPhase::Absent { deletion: DeletionPolicy::Foreground, .. }));
    let removed = ReleaseReport {
        removed: true,
        applied: None,
        ..report(&release, StageName::Pruned, StageState::Done)
    };
    release.apply_report(&removed, at(71)).unwrap();
    let cause = "Revision 1 failed here, and its first installation was rolled back. no web here";
    assert_state(&release, ReleaseState::Removed, cause);
    assert_eq!(release.desired_release("web"), None);
    assert!(release.is_rolled_back_from(1) && !release.is_rolled_back_from(2));
}

#[test]
fn s1_10_a_failing_first_installation_whose_objects_are_orphaned_says_that_they_stay() {
    let mut release = new_release();
    let policies = Policies { deletion: DeletionPolicy::Orphan, ..Policies::default() };
    release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), policies, at(1));
    let failed = StageState::Failed(stage_reason(Reason::Invalid, "no such field"));
    release.apply_report(&report(&release, StageName::Applied, failed), at(2)).unwrap();
    assert!(release.roll_back_failing(at(70)));
    let done = report(&release, StageName::Pruned, StageState::Done);
    release.apply_report(&ReleaseReport { removed: true, applied: None, ..done }, at(71)).unwrap();
    let message = "Revision 1 failed here, and its first installation was rolled back. no such field Its objects were orphaned: they stay on the cluster.";
    assert_state(&release, ReleaseState::Orphaned, message);
}

#[test]
fn f4b_a_cluster_that_works_is_suspended_when_it_is_rolled_back_with_others_and_one_that_fails_has_failed() {
    let mut works = healthy_release();
    works.set_desired_revision(2, RenderOutcome::Bundle(bundle(2)), Policies::default(), at(5));
    works.apply_report(&operational_report(&works), at(6)).unwrap();
    assert!(!works.roll_back_failing(at(70)), "it works");
    assert!(works.roll_back_with_rollout("1 of 2 clusters fails.", at(70)));
    assert!(works.is_rolling_back() && works.is_rolled_back_from(2));
    assert_eq!((works.state(), works.released_revision), (ReleaseState::Queued, Some(1)));
    works.apply_report(&operational_report(&works), at(71)).unwrap();
    let why = "The rollout of revision 2 was rolled back: 1 of 2 clusters fails. This cluster has revision 1 again until the next publish.";
    assert_state(&works, ReleaseState::Suspended, why);

    let mut fails = failing_upgrade();
    assert!(fails.roll_back_with_rollout("1 of 2 clusters fails.", at(70)));
    let cause = "Revision 2 failed here, and it was rolled back to revision 1. no web here";
    assert_state(&fails, ReleaseState::Failed, cause);

    let mut first = healthy_release();
    assert!(!first.roll_back_with_rollout("1 of 2 clusters fails.", at(70)), "it keeps what it has");
    assert_eq!((first.is_present(), first.released_revision), (true, Some(1)));
}

#[test]
fn a_revision_that_was_operational_or_that_changed_nothing_is_not_rolled_back() {
    let mut degraded = healthy_release();
    let lost = with_health(operational_report(&degraded), HealthStatus::Degraded, "Crashed.");
    degraded.apply_report(&lost, at(9)).unwrap();
    assert_eq!(degraded.state(), ReleaseState::Degraded);
    assert!(!degraded.can_roll_back(), "it was operational before");

    let mut same = healthy_release();
    same.set_desired_revision(2, RenderOutcome::Bundle(bundle(1)), Policies::default(), at(10));
    same.apply_report(&lost, at(11)).unwrap();
    assert_eq!((same.state(), same.released_revision), (ReleaseState::Degraded, Some(2)));
    assert!(!same.can_roll_back(), "the bundle before is the same");

    let mut offline = failing_upgrade();
    offline.set_connectivity(Connectivity::Offline, at(12));
    assert!(!offline.can_roll_back(), "what runs there is not known");
}

#[test]
fn an_installation_that_took_over_objects_or_ran_before_is_not_removed() {
    use crate::model::policy::HelmReleasePolicy;
    let failed = || StageState::Failed(stage_reason(Reason::Invalid, "no such field"));
    let adopting = [
        Policies { conflict: ConflictPolicy::Force, ..Policies::default() },
        Policies { conflict: ConflictPolicy::IfIdentical, ..Policies::default() },
        Policies { helm_release: HelmReleasePolicy::Adopt, ..Policies::default() },
    ];
    for policies in adopting {
        let mut release = new_release();
        release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), policies, at(1));
        release.apply_report(&report(&release, StageName::Applied, failed()), at(2)).unwrap();
        assert_eq!(release.state(), ReleaseState::Failed);
        assert!(!release.can_roll_back(), "what it took over was there before");
    }

    // Stored by an earlier version while an upgrade failed: what ran before is not known.
    let mut stored = failing_upgrade();
    stored.rollback = None;
    assert!(!stored.can_roll_back());
    stored.set_desired_revision(3, RenderOutcome::Bundle(bundle(3)), Policies::default(), at(20));
    stored.apply_report(&report(&stored, StageName::Applied, failed()), at(21)).unwrap();
    assert!(!stored.roll_back_failing(at(90)), "it is no first installation");
    assert!(stored.is_present());
}

#[test]
fn a_rollback_returns_to_the_last_bundle_that_was_applied_completely() {
    let mut release = failing_upgrade();
    release.set_desired_revision(3, RenderOutcome::Bundle(bundle(3)), Policies::default(), at(20));
    let failed = StageState::Failed(stage_reason(Reason::Invalid, "no such field"));
    release.apply_report(&report(&release, StageName::Applied, failed), at(21)).unwrap();
    assert!(release.roll_back_failing(at(90)));
    assert_eq!((release.released.clone(), release.released_revision), (Some(bundle(1)), Some(1)));
}

#[test]
fn what_was_rolled_back_is_delivered_again_on_request_and_by_the_next_publish() {
    let mut release = failing_upgrade();
    assert!(!release.retry_rolled_back(at(60)), "nothing was rolled back");
    release.roll_back_failing(at(70));
    let mut next = release.clone();
    assert!(!release.gate_revision(second_revision(2), WAVE, at(71)), "a pass of the placer");
    assert!(release.is_rolled_back_from(2));
    assert!(release.retry_rolled_back(at(80)));
    assert!(release.is_gated() && release.rollback_cause().is_none());
    assert!(release.admit(Policies::default(), at(81)));
    assert_eq!((release.released_revision, release.state()), (Some(2), ReleaseState::Queued));

    assert!(next.set_desired_revision(3, RenderOutcome::Bundle(bundle(3)), Policies::default(), at(90)));
    assert_eq!((next.rollback_cause(), next.released_revision), (None, Some(3)));
}

#[test]
fn a_removed_first_installation_is_installed_again_on_request() {
    let failed = StageState::Failed(stage_reason(Reason::Invalid, "no such field"));
    let mut release = release_after(|release| report(release, StageName::Applied, failed));
    release.roll_back_failing(at(70));
    let removed = ReleaseReport {
        removed: true,
        applied: None,
        ..report(&release, StageName::Pruned, StageState::Done)
    };
    release.apply_report(&removed, at(71)).unwrap();
    assert!(release.retry_rolled_back(at(80)));
    assert_eq!(release.desired_release("web"), None, "not before it is admitted");
    assert!(release.admit(Policies::default(), at(81)));
    assert_eq!((release.is_present(), &release.rollback), (true, &None));
}

#[test]
fn s2_11_a_resume_delivers_nothing_that_was_rolled_back_or_aborted() {
    let why = "The cluster is suspended by ann since today: new disks.";
    let mut release = failing_upgrade();
    assert!(release.roll_back_failing(at(70)));
    release.apply_report(&operational_report(&release), at(72)).unwrap();
    assert!(release.suspend(why, at(80)));
    let cause = "Revision 2 failed here, and it was rolled back to revision 1. no web here";
    assert_state(&release, ReleaseState::Suspended, &format!("{why} {cause}"));
    assert_eq!((release.rollback_cause(), release.wave), (Some(cause), None));
    assert!(!release.retry_rolled_back(at(81)), "not while it is suspended");
    assert!(!release.hold_suspended(second_revision(3), why, at(82)), "rendered again");
    assert_eq!((release.is_rolled_back_from(2), release.desired.clone()), (true, Some(bundle(2))));
    let stored = serde_json::to_value(&release).unwrap();
    assert_eq!(serde_json::from_value::<Release>(stored).unwrap(), release);
    assert!(release.resume(at(90)));
    assert_state(&release, ReleaseState::Failed, cause);
    assert_eq!((release.is_rolled_back_from(2), release.released_revision), (true, Some(1)));
    assert!(release.retry_rolled_back(at(91)));

    let mut aborted = gated_release();
    assert!(aborted.end_gate("The rollout was aborted.", at(6)));
    assert!(aborted.suspend(why, at(7)));
    assert_state(&aborted, ReleaseState::Suspended, &format!("{why} The rollout was aborted."));
    assert!(aborted.resume(at(8)));
    assert_eq!((aborted.gate, aborted.message()), (Gate::Aborted, "The rollout was aborted.".to_owned()));
}

#[test]
fn s2_11_a_suspended_cluster_is_rolled_back_once_it_is_resumed() {
    let mut release = failing_upgrade();
    assert!(release.suspend("The workload is suspended by ann since today: handover.", at(60)));
    assert!(!release.roll_back_failing(at(70)));
    assert!(!release.roll_back_with_rollout("1 of 2 clusters fails.", at(70)));
    assert!(release.resume(at(80)));
    assert!(release.roll_back_with_rollout("1 of 2 clusters fails.", at(90)));
    assert!(release.is_rolled_back_from(2));
}
