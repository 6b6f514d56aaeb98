//! Outages of the hub, the agent or both; in the end every cluster has its desired state.

use domain::release::ReleaseState;

use crate::raw_agent::RawAgent;
use crate::test_server::{CONFIG_MAP, TestServer, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn p3_an_agent_that_was_offline_compares_the_full_desired_state_and_updates_deletes_and_creates() {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    for name in ["a", "b"] {
        server.publish(name, "1", &["eu-1"]).await;
        server.wait_for_state(name, "eu-1", ReleaseState::Healthy).await;
    }
    member.stop().await;
    server.publish("a", "2", &["eu-1"]).await;
    server.hub.unpublish_workload(&server.actor, "b", Default::default()).await.unwrap();
    server.publish("c", "1", &["eu-1"]).await;
    member.start(None);
    member.wait_for_value("a", Some("2")).await;
    member.wait_for_value("b", None).await;
    member.wait_for_value("c", Some("1")).await;
    server.wait_for_state("b", "eu-1", ReleaseState::Removed).await;
    server.wait_for_state("a", "eu-1", ReleaseState::Healthy).await;
    server.wait_for_state("c", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_a_workload_unpublished_while_the_link_is_down_is_not_orphaned() {
    let mut server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    // No agent can connect; the verb still writes to the database.
    server.stop().await;
    server.hub.unpublish_workload(&server.actor, "web", Default::default()).await.unwrap();
    assert_eq!(member.config_value("web").as_deref(), Some("1"));
    let server = server.restart().await;
    member.wait_for_value("web", None).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Removed).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_an_agent_continues_after_a_restart_of_the_hub() {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    let server = server.restart().await;
    server.publish("web", "2", &["eu-1"]).await;
    member.wait_for_value("web", Some("2")).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_an_agent_with_a_long_retry_delay_fetches_as_soon_as_its_stream_is_back() {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
    let hour = std::time::Duration::from_secs(3600);
    member.start_with(
        None,
        agent::AgentOptions { retry_initial_delay: hour, retry_max_delay: hour, ..member.options() },
    );
    server.publish("web", "2", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    let server = server.restart().await;
    server.publish("web", "3", &["eu-1"]).await;
    member.wait_for_value("web", Some("3")).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_an_agent_heals_while_its_hub_is_down_also_after_a_restart() {
    let mut server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.wait_for_cached_releases(1).await;
    server.stop().await;
    member.cluster.delete(CONFIG_MAP, ("default", "web")).unwrap();
    member.wait_for_value("web", Some("1")).await;

    member.stop().await;
    member.cluster.delete(CONFIG_MAP, ("default", "web")).unwrap();
    assert_eq!(member.config_value("web"), None);
    member.start(None);
    member.wait_for_value("web", Some("1")).await;
    let changed = |object: &mut serde_json::Value| object["data"]["value"] = "by hand".into();
    member.cluster.edit(CONFIG_MAP, ("default", "web"), "kubectl-edit", changed).unwrap();
    member.wait_for_value("web", Some("1")).await;

    // After the hub's restart, the agent reports and receives a new desired state.
    let server = server.restart().await;
    server.publish("web", "2", &["eu-1"]).await;
    member.wait_for_value("web", Some("2")).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_a_workload_that_was_removed_does_not_return_from_a_cache_that_is_older() {
    let mut server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.publish("api", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    server.wait_for_state("api", "eu-1", ReleaseState::Healthy).await;
    member.wait_for_cached_releases(2).await;
    let mut entries = Vec::new();
    for name in member.cache.list_names().await.unwrap() {
        entries.push((name.clone(), member.cache.get(&name).await.unwrap().unwrap()));
    }
    server.hub.unpublish_workload(&server.actor, "web", Default::default()).await.unwrap();
    server.wait_for_state("web", "eu-1", ReleaseState::Removed).await;
    // The agent is killed before it has written the cache again, and its hub is down.
    member.stop().await;
    server.stop().await;
    for (name, bytes) in entries {
        member.cache.put(&name, &bytes).await.unwrap();
    }
    member.cluster.delete(CONFIG_MAP, ("default", "api")).unwrap();
    member.start(None);
    member.wait_for_value("api", Some("1")).await;
    tokio::time::sleep(std::time::Duration::from_secs(1)).await;
    assert_eq!(
        member.config_value("web"),
        None,
        "it has no record, so only the hub knows whether it is desired"
    );

    let server = server.restart().await;
    server.publish("web", "2", &["eu-1"]).await;
    member.wait_for_value("web", Some("2")).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p21_agents_keep_applying_in_an_outage_of_the_database_and_continue_after_it() {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    let passes = |server: &TestServer| server.hub.task_statuses()["staleness"].failed_passes;
    server.hub.inject_outage(Some((hub::DatabaseOutage::Unreachable, 0)));
    member.cluster.delete(CONFIG_MAP, ("default", "web")).unwrap();
    member.wait_for_value("web", Some("1")).await;
    wait_until("the loops notice it", async || passes(&server) >= 2).await;
    server.hub.inject_outage(None);
    server.publish("web", "2", &["eu-1"]).await;
    member.wait_for_value("web", Some("2")).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    let cluster = server.hub.get_cluster("eu-1").await.unwrap();
    assert_eq!(
        cluster.cluster.connectivity,
        domain::cluster::Connectivity::Online,
        "no time of the outage counts"
    );
    assert!(server.hub.task_statuses().values().all(|task| task.restarts == 0));
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_8_s4_9_a_lost_bundle_is_answered_with_503_and_retry_after_and_is_made_again() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    let agent = RawAgent::join(&server, "eu-1", &token).await;
    server.publish("web", "1", &["eu-1"]).await;
    let (desired, digest) = agent.wait_for_release().await;
    let path = format!("releases/{}/bundle/{digest}", desired.release);
    let before = agent.get(&path).await;
    assert_eq!(before.status, 200, "{before:?}");

    server.delete_bundles().await;
    let lost = agent.get(&path).await;
    assert_eq!((lost.status, &lost.body["code"]), (503, &"BeingRestored".into()), "{lost:?}");
    assert!(lost.retry_after.is_some_and(|seconds| seconds > 0), "{lost:?}");
    wait_until("the bundle is made again", async || agent.get(&path).await.status == 200).await;
    assert_eq!(agent.get(&path).await.body, before.body);
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_9_an_agent_waits_for_a_lost_bundle_and_applies_it_without_a_failure() {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
    server.publish("web", "2", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Queued).await;
    server.delete_bundles().await;
    member.start(None);
    member.wait_for_value("web", Some("2")).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    let events = server.hub.list_events_after(0, 500).await.unwrap();
    let failed: Vec<_> = events.iter().filter(|event| event.message.contains("Failed")).collect();
    assert!(failed.is_empty(), "{failed:?}");
    member.stop().await;
}
