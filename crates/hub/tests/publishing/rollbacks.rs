//! Rollbacks of a rollout in which more clusters fail than it allows (docs/rollouts.md).

use domain::incident::{IncidentKind, IncidentState};
use domain::release::ReleaseState;
use domain::report::DesiredPhase;
use domain::rollout::{OnFailure, RolloutState, RolloutStrategy};
use domain::suspension::{ResumeRequest, SuspendRequest};
use serde_json::json;

use crate::incidents::{list, pass};
use crate::release_state;
use crate::rollouts::{
    degraded_report, edit_draft, publish_in_waves, view_rollout, wait_for_revision, wait_for_rollout,
    wave_strategy,
};
use crate::test_hub::{TestAgent, TestHub, everywhere, wait_until};

/// One cluster first, then another one, then the rest.
fn three_waves(on_failure: OnFailure) -> RolloutStrategy {
    let waves = json!([
        { "name": "canary", "target": { "clusters": ["a"] } },
        { "name": "early", "target": { "clusters": ["b"] } },
        { "name": "rest" },
    ]);
    RolloutStrategy { on_failure, ..wave_strategy(waves) }
}

/// Applies revision 2 in the canary, and fails with it in the second wave.
async fn fail_in_second_wave(test: &TestHub, a: &mut TestAgent, b: &mut TestAgent) {
    let desired = wait_for_revision(a, 2).await;
    a.report_applied(&desired).await;
    let desired = wait_for_revision(b, 2).await;
    b.send_report(degraded_report(&desired)).await;
    wait_for_rollout(test, "b fails", |rollout| rollout.waves[1].failing == 1).await;
    test.advance_clock(61);
}

async fn released_revision(test: &TestHub, cluster: &str) -> Option<u32> {
    test.hub.get_release("web", cluster).await.unwrap().release.released_revision()
}

async fn wait_for_end(test: &TestHub) {
    let is_over = |state: &RolloutState| matches!(state, RolloutState::RolledBack { .. });
    wait_for_rollout(test, "it is rolled back", |rollout| is_over(&rollout.state)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f4b_a_failing_wave_gets_back_what_its_clusters_had_and_the_wave_before_stays() {
    let test = TestHub::open().await;
    let [mut a, mut b, _c] = publish_in_waves(&test, three_waves(OnFailure::RollbackWave)).await;
    let first = test.hub.get_release("web", "b").await.unwrap().release;
    let first = first.applied().unwrap().clone();
    fail_in_second_wave(&test, &mut a, &mut b).await;
    let desired = wait_for_revision(&mut b, 1).await;
    let DesiredPhase::Present { bundle, .. } = &desired.phase else { panic!("{desired:?}") };
    assert_eq!(*bundle, first);
    test.run_rollout_loop().await;
    let rolling = view_rollout(&test).await;
    assert!(matches!(rolling.state, RolloutState::RollingBack { first_wave: 1, .. }), "{rolling:?}");
    assert_eq!(rolling.waves[1].rolled_back, 1);

    b.report_applied(&desired).await;
    wait_for_end(&test).await;
    assert_eq!(
        (released_revision(&test, "a").await, released_revision(&test, "b").await),
        (Some(2), Some(1))
    );
    let view = test.hub.get_release("web", "b").await.unwrap();
    assert_eq!(view.state, ReleaseState::Failed);
    let cause = "Revision 2 failed here, and it was rolled back to revision 1.";
    assert!(view.message.starts_with(cause), "{}", view.message);
    wait_until("c stays", async || release_state(&test, "web", "c").await == ReleaseState::Suspended).await;
    assert_eq!(released_revision(&test, "c").await, Some(1));
    // Passes over the same revision deliver nothing.
    test.run_placer().await;
    test.run_rollout_loop().await;
    assert_eq!(
        (released_revision(&test, "b").await, released_revision(&test, "c").await),
        (Some(1), Some(1))
    );
    let log = test.event_messages().await;
    let why = "the rollout was rolled back. 1 of 1 cluster fails in wave early; the limit is 0.";
    assert!(log.iter().any(|message| message.contains(why)), "{log:#?}");

    edit_draft(&test, RolloutStrategy::default(), "red").await;
    test.publish("web").await;
    wait_for_revision(&mut b, 3).await;
    let old = test.hub.get_rollout("web", Some(2)).await.unwrap().unwrap();
    assert_eq!(old.state, RolloutState::Superseded);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f4b_a_rollback_of_all_waves_continues_after_a_restart_and_is_an_incident_that_names_the_cause() {
    let test = TestHub::open().await;
    let [mut a, mut b, c] = publish_in_waves(&test, three_waves(OnFailure::RollbackAll)).await;
    fail_in_second_wave(&test, &mut a, &mut b).await;
    let of_a = wait_for_revision(&mut a, 1).await;
    let of_b = wait_for_revision(&mut b, 1).await;
    a.report_applied(&of_a).await;
    drop((a, b, c));

    let test = test.restart().await;
    test.run_rollout_loop().await;
    let rolling = view_rollout(&test).await;
    assert!(matches!(rolling.state, RolloutState::RollingBack { first_wave: 0, .. }), "{rolling:?}");
    let mut b = test.reconnect_agent("b").await;
    let again = b.wait_for_release().await;
    assert_eq!(again.generation, of_b.generation, "it is rolled back once");
    b.report_applied(&again).await;
    wait_for_end(&test).await;
    assert_eq!(
        (released_revision(&test, "a").await, released_revision(&test, "b").await),
        (Some(1), Some(1))
    );
    let works = test.hub.get_release("web", "a").await.unwrap();
    assert_eq!(works.release.rollback().map(|before| before.revision), Some(1));
    assert!(works.message.contains("1 of 1 cluster fails in wave early"), "{}", works.message);
    // What was rolled back with its waves is not delivered by a sync.
    test.hub.sync_workload(&test.actor, "web", &[]).await.unwrap();
    test.run_rollout_loop().await;
    assert_eq!(released_revision(&test, "a").await, Some(1));

    drop(b);
    let mut test = test.restart().await;
    test.stop_loops().await;
    pass(&test, 10).await;
    pass(&test, 120).await;
    let open = list(&test, IncidentState::Open).await;
    let rollback = open.iter().find(|incident| incident.kind == IncidentKind::Rollback).expect("an incident");
    assert_eq!(rollback.headline(), "The rollout of web was rolled back");
    assert!(rollback.cause.contains("1 of 1 cluster fails in wave early"), "{}", rollback.cause);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f4b_a_rollback_keeps_the_revision_on_a_cluster_that_had_none() {
    let test = TestHub::open().await;
    let mut a = test.register_cluster("a", &[]).await;
    let _b = test.register_cluster("b", &[]).await;
    test.create_draft("web", everywhere()).await;
    let waves = json!([{ "name": "canary", "target": { "clusters": ["a"] } }, { "name": "rest" }]);
    let strategy = RolloutStrategy { on_failure: OnFailure::RollbackAll, ..wave_strategy(waves) };
    edit_draft(&test, strategy, "green").await;
    test.publish("web").await;
    let desired = wait_for_revision(&mut a, 1).await;
    a.send_report(degraded_report(&desired)).await;
    wait_for_rollout(&test, "a fails", |rollout| rollout.waves[0].failing == 1).await;
    test.advance_clock(61);
    wait_for_end(&test).await;
    assert_eq!(released_revision(&test, "a").await, Some(1));
    assert_eq!(release_state(&test, "web", "a").await, ReleaseState::Degraded);
    wait_until("b gets nothing", async || release_state(&test, "web", "b").await == ReleaseState::Suspended)
        .await;
    assert_eq!(released_revision(&test, "b").await, None);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_11_a_cluster_that_is_suspended_during_a_rollback_is_rolled_back_once_it_is_resumed() {
    let test = TestHub::open().await;
    let [mut a, mut b, _c] = publish_in_waves(&test, three_waves(OnFailure::RollbackAll)).await;
    let desired = wait_for_revision(&mut a, 2).await;
    a.report_applied(&desired).await;
    let desired = wait_for_revision(&mut b, 2).await;
    let clusters = vec!["a".to_owned()];
    let suspend = SuspendRequest { reason: "handover".into(), clusters: clusters.clone() };
    test.hub.suspend_workload(&test.actor, "web", &suspend).await.unwrap();
    b.send_report(degraded_report(&desired)).await;
    wait_for_rollout(&test, "b fails", |rollout| rollout.waves[1].failing == 1).await;
    test.advance_clock(61);
    let back = wait_for_revision(&mut b, 1).await;
    b.report_applied(&back).await;
    wait_for_end(&test).await;
    assert_eq!(released_revision(&test, "a").await, Some(2), "nothing changes while it is suspended");

    test.hub.resume_workload(&test.actor, "web", &ResumeRequest { clusters }).await.unwrap();
    let back = wait_for_revision(&mut a, 1).await;
    a.report_applied(&back).await;
    let view = test.hub.get_release("web", "a").await.unwrap();
    assert_eq!(view.state, ReleaseState::Suspended);
    assert!(view.message.starts_with("The rollout of revision 2 was rolled back"), "{}", view.message);
    test.close().await;
}
