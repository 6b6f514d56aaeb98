//! Releases that a user suspended.

use super::*;

const WHY: &str = "The workload is suspended by ann since 1970-01-01T00:00:05.000Z: handover.";

fn revision(number: u32, n: u8) -> DesiredRevision {
    DesiredRevision {
        revision: number,
        outcome: RenderOutcome::Bundle(bundle(n)),
        policies: Policies::default(),
    }
}

fn suspended_release() -> Release {
    let mut release = healthy_release();
    assert!(release.suspend(WHY, at(5)));
    release
}

#[test]
fn s2_11_a_suspended_release_keeps_its_bundle_and_shows_the_suspension() {
    let mut release = suspended_release();
    assert_state(&release, ReleaseState::Suspended, WHY);
    assert!(!release.suspend(WHY, at(6)), "nothing changes");
    let stage = release.stages.get(StageName::Released);
    assert_eq!((&stage.state.reason().unwrap().reason, stage.started_at), (&Reason::Suspended, Some(at(5))));
    assert!(!release.hold_suspended(revision(1, 1), WHY, at(6)), "a pass without changes");
    assert_eq!(release, suspended_release());
    assert!(!release.hold_suspended(revision(2, 2), WHY, at(7)));
    assert_state(&release, ReleaseState::Suspended, &format!("{WHY} The desired revision waits."));
    assert_eq!(release.stages.get(StageName::Released).started_at, Some(at(5)), "since then");
    assert_eq!((release.revision, release.released_revision, release.wave), (Some(2), Some(1), None));
    let desired = release.desired_release("web").unwrap();
    assert_eq!(desired.generation, 1);
    assert!(matches!(desired.phase, DesiredPhase::Present { bundle: b, revision: 1, .. } if b == bundle(1)));
}

#[test]
fn s2_11_a_resumed_release_is_as_before_or_gets_what_waited() {
    let mut release = suspended_release();
    assert!(release.resume(at(8)));
    assert!(!release.resume(at(9)));
    assert_eq!((release.state(), release.generation), (ReleaseState::Healthy, 1));
    let mut release = suspended_release();
    release.hold_suspended(revision(2, 2), WHY, at(7));
    assert!(release.resume(at(8)));
    assert_eq!(release.state(), ReleaseState::Pending, "until it is placed");
    assert!(release.set_desired_revision(2, RenderOutcome::Bundle(bundle(2)), Policies::default(), at(9)));
    assert_eq!((release.state(), release.released_revision), (ReleaseState::Queued, Some(2)));
}

#[test]
fn s2_11_drift_and_failures_of_a_suspended_release_are_seen() {
    let mut release = suspended_release();
    let drifted = ReleaseReport { sync: SyncStatus::Drifted, ..operational_report(&release) };
    release.apply_report(&drifted, at(6)).unwrap();
    let message = format!("{WHY} Objects were changed on the cluster; nothing is reverted.");
    assert_state(&release, ReleaseState::Suspended, &message);
    let broken = with_health(operational_report(&release), HealthStatus::Degraded, "0 of 2 pods are ready.");
    release.apply_report(&broken, at(7)).unwrap();
    assert_state(&release, ReleaseState::Degraded, &format!("0 of 2 pods are ready. {WHY}"));
    assert!(release.is_suspended());
}

#[test]
fn s2_11_a_suspension_is_no_removal_and_a_removal_waits_for_its_end() {
    let mut release = suspended_release();
    assert!(release.remove(DeletionPolicy::Foreground, "It was unpublished.", at(6)));
    assert_state(&release, ReleaseState::Suspended, &format!("{WHY} Its removal waits."));
    assert!(release.is_suspended());
    assert!(release.resume(at(7)));
    assert_state(&release, ReleaseState::Removing, "It was unpublished.");
    let mut gone = new_release();
    assert!(gone.suspend(WHY, at(1)));
    gone.remove(DeletionPolicy::Foreground, "It was unpublished.", at(2));
    assert_eq!(gone.state(), ReleaseState::Removed, "nothing of it was ever sent");
}

#[test]
fn a_suspended_release_without_a_bundle_stays_suspended_until_it_is_resumed() {
    let mut release = new_release();
    let failed = || StageReason::new(Reason::RenderFailed, "A value is missing.");
    let next = || DesiredRevision { outcome: RenderOutcome::Failed(failed()), ..revision(1, 1) };
    release.hold_suspended(next(), WHY, at(5));
    assert_state(&release, ReleaseState::Suspended, WHY);
    let before = release.clone();
    release.hold_suspended(next(), WHY, at(9));
    assert_eq!(release.stages.get(StageName::Released), before.stages.get(StageName::Released));
    assert!(release.resume(at(10)));
    assert_eq!(release.state(), ReleaseState::Failed);
}

#[test]
fn a_gated_release_that_is_suspended_is_gated_again_once_it_is_resumed() {
    let mut release = gated_release();
    release.set_wave(Some(1));
    assert!(release.suspend(WHY, at(6)));
    assert_eq!(
        (release.wave, release.is_gated(), release.admit(Policies::default(), at(7))),
        (None, false, false)
    );
    assert!(release.resume(at(8)));
    assert!(!release.gate_revision(second_revision(2), WAVE, at(9)));
    assert!(release.is_gated());
}
