//! Clock skew of an hour, in both directions, on either side (P10).

use domain::cluster::Connectivity;
use domain::release::ReleaseState;

use crate::test_server::{CONFIG_MAP, MemberCluster, TestServer, wait_until};

const HOUR: i64 = 3_600_000;

/// Joins, applies, heals, and continues after a restart of the hub.
async fn assert_lifecycle(server: TestServer, member: MemberCluster) {
    let token = server.create_auto_accept_token().await;
    member.start(Some(server.join_config("eu-1", &token)));
    server.wait_for_condition("eu-1", "AgentConnected").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.cluster.delete(CONFIG_MAP, ("default", "web")).unwrap();
    member.wait_for_value("web", Some("1")).await;

    // The lease depends on the hub's clock only.
    let last_seen = async || server.hub.get_cluster("eu-1").await.unwrap().cluster.last_seen;
    let before = last_seen().await;
    wait_until("the lease is renewed", async || last_seen().await > before).await;
    assert_eq!(server.hub.get_cluster("eu-1").await.unwrap().cluster.connectivity, Connectivity::Online);

    // The cached certificate is still valid: the agent does not join again.
    member.stop().await;
    let server = server.restart().await;
    member.start(None);
    server.publish("web", "2", &["eu-1"]).await;
    member.wait_for_value("web", Some("2")).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    server.hub.unpublish_workload(&server.actor, "web", Default::default()).await.unwrap();
    server.wait_for_state("web", "eu-1", ReleaseState::Removed).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p10_a_hub_whose_clock_is_an_hour_ahead_or_behind_serves_its_agents() {
    for off in [HOUR, -HOUR] {
        let server = TestServer::start_with_clock_offset(off).await;
        Box::pin(assert_lifecycle(server, MemberCluster::new("eu-1"))).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p10_an_agent_whose_clock_is_an_hour_ahead_or_behind_is_served() {
    for off in [HOUR, -HOUR] {
        let cluster = MemberCluster::new("eu-1").with_clock_offset(off);
        Box::pin(assert_lifecycle(TestServer::open().await, cluster)).await;
    }
}
