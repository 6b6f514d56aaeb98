//! Releases that wait for a workload that their own depends on, and releases that others wait for.

use super::*;

const WAIT: &str = "Waits for db on east: an image can't be pulled.";

fn revision(number: u32, n: u8) -> DesiredRevision {
    DesiredRevision {
        revision: number,
        outcome: RenderOutcome::Bundle(bundle(n)),
        policies: Policies::default(),
    }
}

#[test]
fn a_release_that_waits_for_another_workload_says_for_what_and_since_when() {
    let mut release = new_release();
    assert!(!release.await_dependency(revision(1, 1), WAIT, at(5)));
    assert!(release.is_awaiting_dependency());
    assert_state(&release, ReleaseState::Pending, WAIT);
    assert_eq!(release.desired_release("web"), None, "nothing is sent");
    let stage = release.stages.get(StageName::Released);
    assert_eq!(
        (stage.state.reason().unwrap().reason.as_str(), stage.started_at),
        ("WaitingForDependency", Some(at(5)))
    );
    assert!(!release.await_dependency(
        revision(1, 1),
        "Waits for db on east: the cluster is offline.",
        at(9)
    ));
    assert_state(&release, ReleaseState::Pending, "Waits for db on east: the cluster is offline.");
    assert_eq!(release.stages.get(StageName::Released).started_at, Some(at(5)), "it waits since then");
    assert!(release.set_desired_revision(1, RenderOutcome::Bundle(bundle(1)), Policies::default(), at(10)));
    assert!(!release.is_awaiting_dependency());
    assert_eq!(release.state(), ReleaseState::Queued);
}

#[test]
fn what_runs_is_not_stopped_when_its_dependency_fails() {
    let mut release = healthy_release();
    assert!(!release.await_dependency(revision(1, 1), WAIT, at(5)), "the cluster has this bundle");
    assert_eq!(release.state(), ReleaseState::Healthy);
    assert!(!release.await_dependency(revision(2, 2), WAIT, at(6)));
    assert_state(&release, ReleaseState::Pending, WAIT);
    let desired = release.desired_release("web").unwrap();
    assert!(matches!(desired.phase, DesiredPhase::Present { bundle: b, revision: 1, .. } if b == bundle(1)));
    // A failure of what runs takes precedence over the wait.
    let report = with_health(operational_report(&release), HealthStatus::Degraded, "0 of 2 pods are ready.");
    release.apply_report(&report, at(7)).unwrap();
    assert_state(&release, ReleaseState::Degraded, "0 of 2 pods are ready.");
}

#[test]
fn a_gated_release_whose_dependency_fails_waits_and_is_gated_again_after_it() {
    let mut release = healthy_release();
    release.gate_revision(revision(2, 2), "Waits for wave 2.", at(5));
    assert!(!release.await_dependency(revision(2, 2), WAIT, at(6)));
    assert!(!release.is_gated() && release.is_awaiting_dependency());
    assert!(!release.gate_revision(revision(2, 2), "Waits for wave 2.", at(7)));
    assert!(release.is_gated());
    assert!(release.end_gate("It was aborted.", at(8)));
    assert!(!release.await_dependency(revision(2, 2), WAIT, at(9)));
    assert_state(&release, ReleaseState::Suspended, "It was aborted.");
}

#[test]
fn others_wait_unless_it_is_operational_in_its_published_revision() {
    let healthy = healthy_release();
    assert_eq!(healthy.dependency_obstacle(1), None);
    let older = healthy.dependency_obstacle(2).unwrap();
    assert!(older.contains("revision 2 is not operational there yet"), "{older}");
    let mut offline = healthy.clone();
    offline.set_connectivity(Connectivity::Offline, at(9));
    assert_eq!(offline.dependency_obstacle(1).unwrap(), "the cluster is offline.");
    offline.set_connectivity(Connectivity::Late, at(9));
    assert_eq!(offline.dependency_obstacle(1).unwrap(), "the cluster has not reported in time.");
    let mut failing = healthy;
    let report =
        with_health(operational_report(&failing), HealthStatus::Degraded, "An image can't be pulled.");
    failing.apply_report(&report, at(9)).unwrap();
    assert_eq!(failing.dependency_obstacle(1).unwrap(), "An image can't be pulled.");
    assert_eq!(removing_release().dependency_obstacle(1).unwrap(), "it is not placed there.");
    assert!(new_release().dependency_obstacle(1).is_some());
}
