//! Clusters that fall silent, and a hub that could not hear them (P29).

use domain::cluster::Connectivity;
use domain::release::ReleaseState;
use domain::rollout::RolloutState;
use serde_json::json;

use crate::release_state;
use crate::rollouts::{
    canary_strategy, publish_in_waves, view_rollout, wait_for_revision, wait_for_rollout, wave_strategy,
};
use crate::test_hub::{TestHub, wait_until};

async fn connectivity(test: &TestHub, cluster: &str) -> Connectivity {
    test.hub.get_cluster(cluster).await.unwrap().cluster.connectivity
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_a_canary_that_falls_silent_after_its_admission_pauses_the_rollout() {
    let test = TestHub::open().await;
    let [mut a, mut b, mut c] = publish_in_waves(&test, canary_strategy()).await;
    wait_for_revision(&mut a, 2).await;
    // The revision cuts the cluster off: its agent is never heard of again.
    test.advance_clock(600);
    b.send_facts(Default::default()).await;
    c.send_facts(Default::default()).await;
    wait_until("a is offline", async || connectivity(&test, "a").await == Connectivity::Offline).await;
    let fleet = test.hub.get_fleet(&Default::default()).await.unwrap().status;
    let listed = fleet.not_reporting.iter().find(|cluster| cluster.name == "a").unwrap();
    assert_eq!((listed.connectivity, listed.last_known.targeted()), (Connectivity::Offline, 1));
    let silent = wait_for_rollout(&test, "a is unsettled", |rollout| rollout.waves[0].silent == 1).await;
    assert_eq!((silent.wave, &silent.state), (0, &RolloutState::Running));
    test.advance_clock(61);
    let paused = wait_for_rollout(&test, "it pauses", |rollout| {
        matches!(rollout.state, RolloutState::AutoPaused { .. })
    })
    .await;
    let message = paused.message(test.hub.clock().now());
    assert!(message.contains("1 went offline after the admission"), "{message}");
    // A later pass of the placer is no other admission.
    test.run_placer().await;
    test.run_rollout_loop().await;
    assert_eq!(release_state(&test, "web", "b").await, ReleaseState::Pending);
    assert_eq!(view_rollout(&test).await.waves[0].deferred, 0);
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_a_canary_that_was_offline_before_its_admission_keeps_the_rollout_waiting_until_it_reports() {
    let test = TestHub::open().await;
    let strategy =
        wave_strategy(json!([{ "name": "canary", "target": { "clusters": ["a"] } }, { "name": "rest" }]));
    let a = test.register_cluster("a", &[]).await;
    test.advance_clock(600);
    wait_until("a is offline", async || connectivity(&test, "a").await == Connectivity::Offline).await;
    drop(a);
    let [mut a, mut b, _c] = publish_in_waves_offline(&test, strategy).await;
    let waiting = wait_for_rollout(&test, "it waits for a", |rollout| {
        rollout.state == RolloutState::AwaitingClusters { deferred: 1, limit: 0 }
    })
    .await;
    assert!(waiting.message(test.hub.clock().now()).contains("1 cluster is offline"));
    test.run_rollout_loop().await;
    assert_eq!(release_state(&test, "web", "b").await, ReleaseState::Pending);
    let desired = wait_for_revision(&mut a, 1).await;
    a.report_applied(&desired).await;
    wait_for_revision(&mut b, 1).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_a_canary_whose_api_server_is_down_holds_its_rollout_until_its_agent_observes_it_again() {
    let test = TestHub::open().await;
    let strategy = wave_strategy(json!([
        { "name": "canary", "target": { "clusters": ["a"] }, "soak": "10s" },
        { "name": "rest" },
    ]));
    let [mut a, mut b, _c] = publish_in_waves(&test, strategy).await;
    let desired = wait_for_revision(&mut a, 2).await;
    a.report_applied(&desired).await;
    wait_for_rollout(&test, "it soaks", |rollout| matches!(rollout.state, RolloutState::Soaking { .. }))
        .await;
    let id = test.hub.get_cluster("a").await.unwrap().cluster.id;

    test.hub.record_api_server_outage(id, "connection refused").await.unwrap();
    let release = async || test.hub.get_release("web", "a").await.unwrap().release;
    assert_eq!(release().await.connectivity(), Connectivity::Late, "its agent observes nothing of it");
    assert_eq!(connectivity(&test, "a").await, Connectivity::Online, "the agent itself responds");
    test.advance_clock(11);
    test.run_placer().await;
    test.run_rollout_loop().await;
    assert_eq!(release().await.connectivity(), Connectivity::Late, "a pass of the placer changes nothing");
    assert_eq!(release_state(&test, "web", "b").await, ReleaseState::Pending);

    test.hub.record_heartbeat(id).await.unwrap();
    assert_eq!(release().await.connectivity(), Connectivity::Online);
    test.advance_clock(11);
    wait_for_revision(&mut b, 2).await;
    test.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_a_report_of_an_agent_without_its_api_server_leaves_the_releases_late() {
    let test = TestHub::open().await;
    let mut a = test.register_cluster_with_lease("a", 2).await;
    test.create_draft("web", crate::test_hub::everywhere()).await;
    test.publish("web").await;
    let desired = wait_for_revision(&mut a, 1).await;
    a.report_applied(&desired).await;
    let id = test.hub.get_cluster("a").await.unwrap().cluster.id;
    test.hub.record_api_server_outage(id, "connection refused").await.unwrap();
    wait_until("a is late", async || {
        test.advance_clock(1);
        connectivity(&test, "a").await != Connectivity::Online
    })
    .await;

    a.report_applied(&desired).await;
    assert_eq!(connectivity(&test, "a").await, Connectivity::Online, "the report renews the lease");
    let release = test.hub.get_release("web", "a").await.unwrap().release;
    assert_eq!(release.connectivity(), Connectivity::Late, "its agent observes nothing of it");
    test.close().await;
}

/// Three clusters of which `a` is offline, and the first revision published with this strategy.
async fn publish_in_waves_offline(
    test: &TestHub,
    strategy: domain::rollout::RolloutStrategy,
) -> [crate::test_hub::TestAgent; 3] {
    let agents = [
        test.reconnect_agent("a").await,
        test.register_cluster("b", &[]).await,
        test.register_cluster("c", &[]).await,
    ];
    test.create_draft("web", crate::test_hub::everywhere()).await;
    crate::rollouts::edit_draft(test, strategy, "green").await;
    test.publish("web").await;
    agents
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_a_pause_of_the_hub_makes_no_cluster_offline() {
    let test = TestHub::open_with_pauses().await;
    let _steady = test.register_cluster("steady", &[]).await;
    let _silent = test.register_cluster_with_lease("silent", 2).await;
    test.advance_clock(36_000);
    // What the hub observes still counts: a cluster with a short lease goes offline.
    wait_until("silent is offline", async || {
        // Slower than the loop, for which a greater leap between two passes is another pause.
        tokio::time::sleep(std::time::Duration::from_millis(250)).await;
        test.advance_clock(1);
        connectivity(&test, "silent").await == Connectivity::Offline
    })
    .await;
    assert_eq!(connectivity(&test, "steady").await, Connectivity::Online);
    test.close().await;
}
