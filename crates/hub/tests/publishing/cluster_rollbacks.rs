//! Rollbacks of single clusters on which a revision fails (S1-10).

use domain::operation::OperationStatus;
use domain::placement::Placement;
use domain::release::ReleaseState;
use domain::rollout::{RolloutState, RolloutStrategy};
use hub::{PublishContent, PublishOptions};

use crate::release_state;
use crate::rollouts::{degraded_report, edit_draft, publish_in_waves, wait_for_revision, wait_for_rollout};
use crate::targets::{relabel, wait_for_pending_removals};
use crate::test_hub::{TestAgent, TestHub, by_label, everywhere, wait_until};

/// All clusters at once, each rolled back on which the revision fails for a minute.
fn atomic_strategy() -> RolloutStrategy {
    let mut strategy = RolloutStrategy::default();
    strategy.set_cluster_rollback(true);
    strategy
}

async fn wait_for_state(test: &TestHub, cluster: &str, expected: ReleaseState) {
    let what = format!("{cluster} is {expected:?}");
    wait_until(&what, async || release_state(test, "web", cluster).await == expected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_a_cluster_on_which_a_revision_fails_returns_to_the_one_before_once_also_over_a_restart() {
    let test = TestHub::open().await;
    let [mut a, mut b, mut c] = publish_in_waves(&test, atomic_strategy()).await;
    for agent in [&mut b, &mut c] {
        let desired = wait_for_revision(agent, 2).await;
        agent.report_applied(&desired).await;
    }
    let desired = wait_for_revision(&mut a, 2).await;
    a.send_report(degraded_report(&desired)).await;
    wait_for_state(&test, "a", ReleaseState::Degraded).await;
    test.run_rollout_loop().await;
    assert_eq!(release_state(&test, "web", "a").await, ReleaseState::Degraded, "it may recover for a minute");

    test.advance_clock(61);
    let back = wait_for_revision(&mut a, 1).await;
    assert_eq!(back.generation, desired.generation + 1);
    let paused =
        wait_for_rollout(&test, "it is a failure of its wave", |rollout| rollout.is_auto_paused()).await;
    assert_eq!((paused.waves[0].rolled_back, paused.waves[0].operational), (1, 2));
    drop((a, b, c));
    let test = test.restart().await;
    test.run_rollout_loop().await;
    test.run_placer().await;
    let mut a = test.reconnect_agent("a").await;
    let again = wait_for_revision(&mut a, 1).await;
    assert_eq!(again, back, "neither delivered nor rolled back again");

    a.report_applied(&again).await;
    let is_back = async || {
        let release = test.hub.get_release("web", "a").await.unwrap().release;
        release.applied_revision() == Some(1)
    };
    wait_until("the revision before is applied", is_back).await;
    let view = test.hub.get_release("web", "a").await.unwrap();
    assert_eq!(view.release.state(), ReleaseState::Failed, "the desired revision failed");
    let cause = "Revision 2 failed here, and it was rolled back to revision 1.";
    assert!(view.message.starts_with(cause) && view.message.contains("0 of 1 pods"), "{}", view.message);
    let log = test.event_messages().await;
    let is_logged = |message: &&String| message.starts_with(&format!("a: {cause}"));
    assert_eq!(log.iter().filter(is_logged).count(), 1, "{log:#?}");
    for cluster in ["b", "c"] {
        assert_eq!(release_state(&test, "web", cluster).await, ReleaseState::Healthy, "{cluster}");
    }
    test.close().await;
}

/// Publishes to cluster `a`, on which the first revision fails and is removed again.
async fn roll_back_first_installation(
    test: &TestHub,
    labels: &[(&str, &str)],
    placement: Placement,
) -> TestAgent {
    let mut a = test.register_cluster("a", labels).await;
    test.create_draft("web", placement).await;
    test.edit_draft("web", |spec| spec.rollout = atomic_strategy()).await;
    test.publish("web").await;
    let desired = wait_for_revision(&mut a, 1).await;
    a.send_report(degraded_report(&desired)).await;
    wait_for_state(test, "a", ReleaseState::Degraded).await;
    test.run_rollout_loop().await;
    test.advance_clock(61);
    let removal = a.wait_for_removal().await;
    a.report_applied(&removal).await;
    wait_for_state(test, "a", ReleaseState::Removed).await;
    a
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_a_first_installation_that_fails_is_removed_and_a_sync_installs_it_again() {
    let test = TestHub::open().await;
    let mut a = roll_back_first_installation(&test, &[], everywhere()).await;
    let view = test.hub.get_release("web", "a").await.unwrap();
    assert!(view.message.contains("its first installation was rolled back"), "{}", view.message);
    test.run_placer().await;
    test.run_rollout_loop().await;
    assert_eq!(release_state(&test, "web", "a").await, ReleaseState::Removed, "no pass installs it again");

    assert_eq!(test.hub.sync_workload(&test.actor, "web", &[]).await.unwrap(), 1);
    let again = wait_for_revision(&mut a, 1).await;
    a.report_applied(&again).await;
    wait_for_state(&test, "a", ReleaseState::Healthy).await;
    let done = |rollout: &domain::rollout::Rollout| rollout.state == RolloutState::Completed;
    wait_for_rollout(&test, "the rollout is completed", done).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_10_a_cluster_that_leaves_after_its_first_installation_was_rolled_back_awaits_no_removal() {
    let test = TestHub::open().await;
    let _a = roll_back_first_installation(&test, &[("env", "prod")], by_label("env=prod")).await;
    relabel(&test, "a", None).await;
    test.run_placer().await;
    let is_left = async || {
        let decision = test.hub.get_placement_decision("web").await.unwrap();
        decision.selected().count() == 0
    };
    wait_until("the cluster is not selected", is_left).await;
    wait_for_pending_removals(&test, &[]).await;
    assert_eq!(test.hub.sync_workload(&test.actor, "web", &[]).await.unwrap(), 0, "it is not selected");

    relabel(&test, "a", Some("prod")).await;
    test.run_placer().await;
    wait_until("the cluster is selected again", async || !is_left().await).await;
    assert_eq!(release_state(&test, "web", "a").await, ReleaseState::Removed, "no pass installs it again");
    assert_eq!(test.hub.sync_workload(&test.actor, "web", &[]).await.unwrap(), 1);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revision_that_was_operational_is_not_rolled_back_when_it_fails_later_and_the_next_one_is_delivered()
 {
    let test = TestHub::open().await;
    let [mut a, _b, _c] = publish_in_waves(&test, atomic_strategy()).await;
    let desired = wait_for_revision(&mut a, 2).await;
    a.report_applied(&desired).await;
    wait_for_state(&test, "a", ReleaseState::Healthy).await;
    a.send_report(degraded_report(&desired)).await;
    wait_for_state(&test, "a", ReleaseState::Degraded).await;
    test.advance_clock(61);
    test.run_rollout_loop().await;
    assert_eq!(release_state(&test, "web", "a").await, ReleaseState::Degraded);
    let release = test.hub.get_release("web", "a").await.unwrap().release;
    assert_eq!(release.released_revision(), Some(2));

    // What was rolled back gets the next revision as every other cluster does.
    edit_draft(&test, atomic_strategy(), "red").await;
    test.publish("web").await;
    let desired = wait_for_revision(&mut a, 3).await;
    a.send_report(degraded_report(&desired)).await;
    wait_for_state(&test, "a", ReleaseState::Degraded).await;
    test.run_rollout_loop().await;
    test.advance_clock(61);
    let back = wait_for_revision(&mut a, 2).await;
    a.report_applied(&back).await;
    edit_draft(&test, RolloutStrategy::default(), "white").await;
    test.publish("web").await;
    let next = wait_for_revision(&mut a, 4).await;
    a.report_applied(&next).await;
    wait_for_state(&test, "a", ReleaseState::Healthy).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_13_the_operation_of_a_rolled_back_publish_failed_and_that_of_a_rollback_names_the_revision() {
    let test = TestHub::open().await;
    let [mut a, _b, _c] = publish_in_waves(&test, atomic_strategy()).await;
    let desired = wait_for_revision(&mut a, 2).await;
    a.send_report(degraded_report(&desired)).await;
    wait_for_state(&test, "a", ReleaseState::Degraded).await;
    test.run_rollout_loop().await;
    test.advance_clock(61);
    let back = wait_for_revision(&mut a, 1).await;
    a.report_applied(&back).await;
    wait_for_state(&test, "a", ReleaseState::Failed).await;
    let newest = async || {
        let query = domain::page::ListQuery::default();
        test.hub.list_operations("web", &query).await.unwrap().items.remove(0)
    };
    let publish = newest().await;
    let outcome = test.hub.get_operation(publish.id).await.unwrap().target_clusters;
    let of_a = outcome.iter().find(|target| target.cluster_name == "a").unwrap();
    assert_eq!(of_a.status, OperationStatus::Failed);
    assert!(of_a.error.as_ref().unwrap().contains("rolled back to revision 1"), "{of_a:?}");
    assert_eq!(publish.restored_revision, None);

    let options = PublishOptions { content: PublishContent::Revision(1), ..PublishOptions::default() };
    test.hub.publish_workload(&test.actor, "web", "", options).await.unwrap();
    let rollback = newest().await;
    assert_eq!((rollback.revision, rollback.restored_revision), (Some(3), Some(1)));
    test.close().await;
}
