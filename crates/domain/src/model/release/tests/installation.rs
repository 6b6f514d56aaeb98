//! The revision that was installed, and reports of agents of an older version.

use super::*;

#[test]
fn an_agent_that_does_not_know_a_part_of_a_bundle_shall_be_updated() {
    let mut release = targeted_release();
    let message = "ChartHook migrate: the cluster does not serve ChartHook (flotilla.dev/v1alpha1). Install the custom resource definition, or remove the object for this cluster.";
    let failed = StageState::Failed(stage_reason(Reason::ApiMissing, message));
    release.apply_report(&report(&release, StageName::Preflight, failed), at(2)).unwrap();
    assert_eq!(
        release.message(),
        "The agent of this cluster is of a version that does not know hooks of charts (ChartHook). Nothing is applied. Update the agent; it continues then."
    );
    let other = "Widget a: the cluster does not serve Widget (example.com/v1).";
    let failed = StageState::Failed(stage_reason(Reason::ApiMissing, other));
    release.apply_report(&report(&release, StageName::Preflight, failed), at(3)).unwrap();
    assert_eq!(release.message(), other);
}

#[test]
fn the_first_revision_that_is_applied_is_the_installed_one_until_the_release_is_removed() {
    let mut release = targeted_release();
    let applied = |release: &Release| report(release, StageName::Operational, StageState::Done);
    assert_eq!(release.installed_revision(), None);
    release.apply_report(&applied(&release), at(2)).unwrap();
    assert_eq!(release.installed_revision(), Some(1));
    release.set_desired_revision(2, RenderOutcome::Bundle(bundle(2)), Policies::default(), at(3));
    release.apply_report(&applied(&release), at(4)).unwrap();
    assert_eq!((release.applied_revision(), release.installed_revision()), (Some(2), Some(1)));
    release.remove(DeletionPolicy::Foreground, "unpublished", at(5));
    let removed = ReleaseReport {
        removed: true,
        applied: None,
        ..report(&release, StageName::Pruned, StageState::Done)
    };
    release.apply_report(&removed, at(6)).unwrap();
    release.set_desired_revision(3, RenderOutcome::Bundle(bundle(3)), Policies::default(), at(7));
    assert_eq!(release.installed_revision(), None);
    release.apply_report(&applied(&release), at(8)).unwrap();
    assert_eq!(release.installed_revision(), Some(3));
}

#[test]
fn a_revision_that_replaced_one_before_it_was_complete_is_the_installed_one() {
    let mut release = targeted_release();
    release.set_desired_revision(2, RenderOutcome::Bundle(bundle(2)), Policies::default(), at(2));
    // The agent completed the earlier bundle before it received this one.
    let late = ReleaseReport {
        applied: Some(bundle(1)),
        ..report(&release, StageName::Applied, StageState::Pending)
    };
    release.apply_report(&late, at(3)).unwrap();
    assert_eq!(release.installed_revision(), None);
    release.apply_report(&report(&release, StageName::Operational, StageState::Done), at(4)).unwrap();
    assert_eq!(release.installed_revision(), Some(2));
}
