//! Releases of clusters whose wave has not started.

use super::*;
use crate::model::release::stage::StageApproval;

mod dependencies;
mod rollbacks;
mod suspension;

const WAVE: &str = "Waits for wave 2 of 2 (rest).";

/// The second revision, rendered as this bundle.
fn second_revision(n: u8) -> DesiredRevision {
    DesiredRevision { revision: 2, outcome: RenderOutcome::Bundle(bundle(n)), policies: Policies::default() }
}

/// Healthy with the first bundle, and gated for the second.
fn gated_release() -> Release {
    let mut release = healthy_release();
    assert!(!release.gate_revision(second_revision(2), WAVE, at(5)));
    release
}

#[test]
fn a_gated_cluster_keeps_its_released_bundle_and_shows_its_wave() {
    let mut release = gated_release();
    assert!(release.is_gated());
    let stage = release.stages.get(StageName::Released).state.reason().unwrap();
    assert_eq!(stage.reason, Reason::WaitingForWave);
    assert_eq!(
        (release.state(), release.message()),
        (ReleaseState::Pending, "Waits for wave 2 of 2 (rest).".into())
    );
    assert_eq!((release.revision, release.released_revision), (Some(2), Some(1)));
    assert_eq!(release.applied_revision, Some(1), "the second one waits");
    let desired = release.desired_release("web").unwrap();
    assert_eq!(desired.generation, 1);
    assert!(matches!(desired.phase, DesiredPhase::Present { bundle: b, revision: 1, .. } if b == bundle(1)));
    // Reports about the running bundle are accepted, and its failure takes precedence over the gate.
    let report = with_health(
        operational_report(&release),
        HealthStatus::Degraded,
        "Deployment web: 0 of 2 pods are ready.",
    );
    release.apply_report(&report, at(6)).unwrap();
    assert_eq!(release.state(), ReleaseState::Degraded);
    assert_eq!(release.message(), "Deployment web: 0 of 2 pods are ready.");
    assert!(release.is_gated());
}

#[test]
fn an_admitted_cluster_gets_the_bundle_that_was_rendered_for_it() {
    let mut release = gated_release();
    let policies = Policies { drift: DriftPolicy::Notify, ..Policies::default() };
    assert!(release.admit(policies.clone(), at(9)));
    assert_eq!((release.state(), release.generation), (ReleaseState::Queued, 2));
    assert_eq!((release.released, release.released_revision), (Some(bundle(2)), Some(2)));
    assert_eq!(release.policies, policies);
    let mut again = gated_release();
    again.admit(Policies::default(), at(9));
    assert!(!again.admit(Policies::default(), at(10)), "once");
}

#[test]
fn s2_5_stage_approved_says_who_approved_what_until_another_revision_is_desired() {
    let mut release = gated_release();
    let explain = |release: &Release| release.stages.get(StageName::Approved).explanation();
    assert_eq!(explain(&release), "Stage Released waits for an approval, if one is required.");
    let wave = "wave 2 of 2 (rest)".to_owned();
    let approval = StageApproval { by: "ben".into(), revision: 2, wave, at: None };
    let timed = StageApproval { at: Some(at(0)), ..approval.clone() };
    assert_eq!(
        timed.to_string(),
        "ben approved wave 2 of 2 (rest) of revision 2 at 1970-01-01T00:00:00.000Z."
    );
    release.record_approval(Some(approval));
    assert!(release.admit(Policies::default(), at(9)));
    assert_eq!(release.stages.get(StageName::Approved).state, StageState::Done);
    assert_eq!(explain(&release), "ben approved wave 2 of 2 (rest) of revision 2.");
    let stored = serde_json::to_value(&release).unwrap();
    assert_eq!(serde_json::from_value::<Release>(stored).unwrap(), release);
    // The same revision, rendered again.
    release.set_desired_revision(2, RenderOutcome::Bundle(bundle(3)), Policies::default(), at(10));
    assert_eq!(explain(&release), "ben approved wave 2 of 2 (rest) of revision 2.");
    release.set_desired_revision(3, RenderOutcome::Bundle(bundle(4)), Policies::default(), at(11));
    assert_eq!(explain(&release), "No approval is required.");
    assert_eq!(release.stages.get(StageName::Approved).approval, None);
}

#[test]
fn a_bundle_that_the_cluster_already_has_is_not_gated() {
    let mut release = healthy_release();
    assert!(!release.gate_revision(second_revision(1), WAVE, at(5)));
    assert_eq!(
        (release.state(), release.is_gated(), release.released_revision),
        (ReleaseState::Healthy, false, Some(2))
    );
}

#[test]
fn a_gated_cluster_of_an_aborted_rollout_is_suspended_until_the_next_publish() {
    let mut release = gated_release();
    assert!(release.end_gate("The rollout of revision 2 was aborted.", at(7)));
    assert_eq!(
        (release.state(), release.message()),
        (ReleaseState::Suspended, "The rollout of revision 2 was aborted.".into())
    );
    assert!(release.set_desired_revision(3, RenderOutcome::Bundle(bundle(3)), Policies::default(), at(8)));
    assert_eq!(release.state(), ReleaseState::Queued);
}

#[test]
fn gating_a_release_during_its_removal_restores_the_released_bundle() {
    let mut release = removing_release();
    assert!(release.gate_revision(second_revision(2), WAVE, at(5)), "the desired state changed");
    assert!(
        matches!(release.desired_release("web").unwrap().phase, DesiredPhase::Present { bundle: b, .. } if b == bundle(1))
    );
}

#[test]
fn a_gated_cluster_that_changes_its_wave_shows_the_new_one() {
    let mut release = gated_release();
    assert!(!release.gate_revision(second_revision(2), "Waits for wave 3 of 3 (rest).", at(6)));
    assert_eq!((release.message().as_str(), release.state_since), ("Waits for wave 3 of 3 (rest).", at(5)));
    assert!(release.end_gate("The rollout was aborted.", at(7)));
    assert!(!release.gate_revision(second_revision(2), WAVE, at(8)), "an aborted rollout does not resume");
    assert_eq!(
        (release.state(), release.message().as_str()),
        (ReleaseState::Suspended, "The rollout was aborted.")
    );
}

#[test]
fn the_text_of_a_reason_does_not_gate_a_release() {
    for reason in [Reason::WaitingForWave, Reason::RolloutAborted] {
        for stage in [StageName::Notified, StageName::Preflight, StageName::Operational] {
            let waiting = StageState::Waiting(stage_reason(reason.clone(), ""));
            let release = release_after(|r| report(r, stage, waiting));
            assert!(!release.is_gated() && release.state() != ReleaseState::Suspended);
        }
    }
}

#[test]
fn the_removal_of_a_gated_release_opens_its_gate() {
    let mut release = gated_release();
    assert!(release.remove(DeletionPolicy::Foreground, "", at(6)));
    assert!(!release.is_gated() && !release.admit(Policies::default(), at(7)));
    assert_eq!(release.state(), ReleaseState::Removing);
}
