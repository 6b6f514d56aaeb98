//! What comes and goes leaves nothing behind: no tasks, no records, nothing kept (P30).

use domain::release::State;
use serde_json::Value;
use tokio::runtime::Handle;

use crate::house::{House, Member, until};

const ROUNDS: usize = 25;

async fn round(house: &House, member: &Member, name: &str) {
    for value in ["1", "2"] {
        house.publish(name, value, &["eu-1"]).await;
    }
    house.until_state(name, "eu-1", State::Healthy).await;
    member.until_value(name, Some("2")).await;
    house.hub.workload_delete(&house.actor, name, Default::default()).await.unwrap();
    until("forgotten", async || house.hub.workload_view(name).await.is_err()).await;
}

/// What the agent keeps, by name.
async fn kept(member: &Member) -> Vec<String> {
    let mut names = member.keeper.names().await.unwrap();
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn p30_workloads_that_came_and_went_leave_no_task_no_record_and_nothing_kept() {
    let house = House::open().await;
    let member = house.joined("eu-1").await;
    // Whatever is made once is made by now.
    for number in 0..3 {
        round(&house, &member, &format!("warm-{number}")).await;
    }
    until("nothing is kept", async || kept(&member).await == ["identity", "wants"]).await;
    let tasks = || Handle::current().metrics().num_alive_tasks();
    let before = tasks();
    for number in 0..ROUNDS {
        round(&house, &member, &format!("soak-{number}")).await;
    }
    // Connections of a pool come and go by themselves: fewer than there were rounds.
    until("the tasks have ended", async || tasks() < before + ROUNDS / 2).await;
    until("nothing is kept", async || kept(&member).await == ["identity", "wants"]).await;
    let records = member.cluster.list(("flotilla.dev/v1alpha1", "AppliedRelease"), None);
    assert_eq!(records, [] as [Value; 0]);
    let releases = house.hub.cluster_releases("eu-1", &Default::default()).await.unwrap();
    assert_eq!(releases.items, []);
    member.stop().await;
}
