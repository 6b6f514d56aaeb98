//! A defect in the handling of one workload stops only that workload, and is shown on it.

use domain::release::ReleaseState;
use domain::rollout::RolloutState;

use crate::release_state;
use crate::rollouts::{canary_strategy, edit_draft, view_rollout, wait_for_revision, wait_for_rollout};
use crate::test_hub::{CONFIG, TestHub, everywhere, source, wait_for, wait_until};

async fn failure(test: &TestHub, workload: &str) -> Option<domain::workload::WorkloadFailure> {
    test.hub.get_workload(workload).await.unwrap().failures.pop()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_one_placement_stops_only_that_workload_and_is_shown_on_it() {
    let test = TestHub::open().await;
    let mut agent = test.register_cluster("east", &[]).await;
    hub::arm_panicpoint("placer.decide", "poisoned-placement", 2);
    test.create_draft("poisoned-placement", everywhere()).await;
    test.create_draft("web", everywhere()).await;
    // Another object, or the two would conflict.
    let mut spec = test.hub.get_workload("web").await.unwrap().workload.draft;
    spec.source = source(&CONFIG.replace("settings", "other"));
    let edit = hub::WorkloadEdit { spec: Some(spec), ..hub::WorkloadEdit::default() };
    test.hub.edit_workload(&test.actor, "web", edit, None).await.unwrap();
    test.publish("poisoned-placement").await;
    test.publish("web").await;
    let desired = agent.wait_for_release().await;
    assert_eq!(desired.workload, "web", "the placer continues");

    let shown = wait_for("the failure is shown", async || failure(&test, "poisoned-placement").await).await;
    assert!(shown.message.starts_with("It can't be placed: panic: armed at"), "{shown:?}");
    assert!(shown.message.contains("please report it"), "{shown:?}");
    let now = test.hub.clock().now();
    assert_eq!((shown.attempts, shown.retry_at), (1, Some(now.plus_millis(5_000))));
    // The next retry fails in the same way: a longer pause, and no other event.
    test.advance_clock(6);
    wait_until("it was retried", async || {
        failure(&test, "poisoned-placement").await.is_some_and(|failure| failure.attempts == 2)
    })
    .await;
    let log = test.event_messages().await;
    let failures = log.iter().filter(|message| message.contains("can't be placed")).count();
    assert_eq!(failures, 1, "{log:#?}");
    test.advance_clock(11);
    wait_until("it is placed", async || failure(&test, "poisoned-placement").await.is_none()).await;
    assert_eq!(release_state(&test, "poisoned-placement", "east").await, ReleaseState::Queued);
    wait_until("the success is an event", async || {
        test.event_messages().await.iter().any(|message| message == "poisoned-placement is placed again.")
    })
    .await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_one_rollout_admits_no_cluster_and_is_shown_until_a_retry_succeeds() {
    let test = TestHub::open().await;
    let mut agent = test.register_cluster("a", &[]).await;
    test.register_cluster("b", &[]).await;
    hub::arm_panicpoint("rollouts.advance", "web", 1);
    test.create_draft("web", everywhere()).await;
    edit_draft(&test, canary_strategy(), "green").await;
    test.publish("web").await;
    let shown = wait_for("the failure is shown", async || failure(&test, "web").await).await;
    assert!(shown.message.starts_with("Its rollout can't be advanced: panic"), "{shown:?}");
    assert_eq!(view_rollout(&test).await.waves[0].gated, 1);
    test.advance_clock(6);
    let desired = wait_for_revision(&mut agent, 1).await;
    agent.report_applied(&desired).await;
    wait_for_rollout(&test, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. }))
        .await;
    assert_eq!(failure(&test, "web").await, None);
    test.close().await;
}
