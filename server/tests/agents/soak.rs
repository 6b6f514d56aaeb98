//! Deleted workloads leave no tasks, records or cache entries (P30).

use domain::release::ReleaseState;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::test_server::{MemberCluster, TestServer, wait_until};

const ROUNDS: usize = 25;

async fn run_round(server: &TestServer, member: &MemberCluster, name: &str) {
    for value in ["1", "2"] {
        server.publish(name, value, &["eu-1"]).await;
    }
    server.wait_for_state(name, "eu-1", ReleaseState::Healthy).await;
    member.wait_for_value(name, Some("2")).await;
    server.hub.delete_workload(&server.actor, name, Default::default()).await.unwrap();
    wait_until("the workload is deleted", async || server.hub.get_workload(name).await.is_err()).await;
}

/// Names of the agent's cache entries.
async fn cache_entries(member: &MemberCluster) -> Vec<String> {
    let mut names = member.cache.list_names().await.unwrap();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn p30_deleted_workloads_leave_no_task_no_record_and_no_cache_entry() {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    // Warm-up: everything that is created once exists afterwards.
    for number in 0..3 {
        run_round(&server, &member, &format!("warm-{number}")).await;
    }
    wait_until("the cache has no bundles", async || {
        cache_entries(&member).await == ["desired-state", "identity"]
    })
    .await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for number in 0..ROUNDS {
        run_round(&server, &member, &format!("soak-{number}")).await;
    }
    // Pooled connections vary: allow fewer tasks than half the rounds.
    wait_until("the tasks have ended", async || tasks() < before + ROUNDS / 2).await;
    wait_until("the cache has no bundles", async || {
        cache_entries(&member).await == ["desired-state", "identity"]
    })
    .await;
    let records = member.cluster.list(("flotilla.dev/v1alpha1", "AppliedRelease"), None);
    assert_eq!(records, [] as [Value; 0]);
    let releases = server.hub.list_cluster_releases("eu-1", &Default::default()).await.unwrap();
    assert_eq!(releases.items, []);
    member.stop().await;
}
