//! Forced deletions while a cluster is unreachable: what they leave there is removed when it returns (S1-23, P3, P17).

use std::time::Duration;

use domain::cluster::Connectivity;
use domain::event::{EventDetail, EventKind};
use domain::release::ReleaseState;
use domain::request::RemovalOptions;

use crate::test_server::{MemberCluster, TestServer, wait_until};

const THREE_DAYS: Duration = Duration::from_secs(3 * 86_400);

/// A server and a cluster with the workload `web` whose agent has stopped, so that the cluster is offline.
async fn start_with_offline_cluster() -> (TestServer, MemberCluster) {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-2").await;
    server.publish("web", "1", &["eu-2"]).await;
    server.wait_for_state("web", "eu-2", ReleaseState::Healthy).await;
    member.stop().await;
    server.advance_clock(Duration::from_secs(600));
    wait_until("eu-2 is offline", async || {
        server.hub.get_cluster("eu-2").await.unwrap().cluster.connectivity == Connectivity::Offline
    })
    .await;
    (server, member)
}

fn force() -> RemovalOptions {
    RemovalOptions { force: true, ..RemovalOptions::default() }
}

/// Waits for the event of a cleanup; returns its message.
async fn wait_for_cleanup(server: &TestServer) -> String {
    server.wait_for_event(EventKind::ReleaseCleanedUp).await;
    let events = server.hub.list_events_after(0, 500).await.unwrap();
    let event = events.into_iter().find(|event| event.kind == EventKind::ReleaseCleanedUp).unwrap();
    assert!(matches!(event.detail, Some(EventDetail::CleanedUp { .. })), "{event:?}");
    assert_eq!((event.workload_name.as_str(), event.cluster_name.as_str()), ("web", "eu-2"));
    event.message
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_23_p3_p17_a_cluster_that_returns_after_a_forced_deletion_removes_the_objects() {
    let (server, member) = start_with_offline_cluster().await;
    server.hub.delete_workload(&server.actor, "web", force()).await.unwrap();
    wait_until("the workload is gone", async || server.hub.get_workload("web").await.is_err()).await;
    assert_eq!(member.config_value("web").as_deref(), Some("1"), "nobody could tell the cluster");

    server.advance_clock(THREE_DAYS);
    member.start(None);
    member.wait_for_value("web", None).await;
    assert_eq!(
        wait_for_cleanup(&server).await,
        "web was cleaned up on eu-2, 3 d after it was given up there."
    );
    // The record is gone too, so the next agent has nothing left to report.
    wait_until("no record is left", async || {
        member.cluster.list(("flotilla.dev/v1alpha1", "AppliedRelease"), None).is_empty()
    })
    .await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_23_a_forced_unpublish_is_completed_when_the_cluster_returns_and_a_publish_before_cancels_it() {
    let (server, member) = start_with_offline_cluster().await;
    server.hub.unpublish_workload(&server.actor, "web", force()).await.unwrap();
    server.publish("web", "2", &["eu-2"]).await;
    member.start(None);
    member.wait_for_value("web", Some("2")).await;
    server.wait_for_state("web", "eu-2", ReleaseState::Healthy).await;

    member.stop().await;
    server.advance_clock(Duration::from_secs(600));
    wait_until("eu-2 is offline", async || {
        server.hub.get_cluster("eu-2").await.unwrap().cluster.connectivity == Connectivity::Offline
    })
    .await;
    server.hub.unpublish_workload(&server.actor, "web", force()).await.unwrap();
    server.wait_for_state("web", "eu-2", ReleaseState::Abandoned).await;
    member.start(None);
    member.wait_for_value("web", None).await;
    server.wait_for_state("web", "eu-2", ReleaseState::Removed).await;
    wait_for_cleanup(&server).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_23_a_deleted_cluster_that_joins_again_removes_what_it_had_before() {
    let (server, member) = start_with_offline_cluster().await;
    server.hub.delete_cluster(&server.actor, "eu-2", true).await.unwrap();
    server.hub.unpublish_workload(&server.actor, "web", RemovalOptions::default()).await.unwrap();
    assert_eq!(member.config_value("web").as_deref(), Some("1"));

    let token = server.create_auto_accept_token().await;
    member.start(Some(server.join_config("eu-2", &token)));
    member.wait_for_value("web", None).await;
    wait_for_cleanup(&server).await;
    member.stop().await;
}
