//! Clocks that go wrong by an hour, in both directions, on either side (P10).

use domain::cluster::Reach;
use domain::release::State;

use crate::house::{CONFIG_MAP, House, Member, until};

const HOUR: i64 = 3_600_000;

/// Joins, works, heals, and goes on after the hub was started again.
async fn lives(house: House, member: Member) {
    let token = house.open_token().await;
    member.start(Some(house.invitation("eu-1", &token)));
    house.until_condition("eu-1", "AgentCame").await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    member.cluster.delete(CONFIG_MAP, ("default", "web")).unwrap();
    member.until_value("web", Some("1")).await;

    // Its lease is kept by the hub's clock alone.
    let seen = async || house.hub.cluster_view("eu-1").await.unwrap().cluster.last_seen;
    let before = seen().await;
    until("heard from again", async || seen().await > before).await;
    assert_eq!(house.hub.cluster_view("eu-1").await.unwrap().cluster.reach, Reach::Online);

    // The kept certificate still counts: the agent does not join anew.
    member.stop().await;
    let house = house.come_back().await;
    member.start(None);
    house.publish("web", "2", &["eu-1"]).await;
    member.until_value("web", Some("2")).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    house.hub.workload_unpublish(&house.actor, "web", Default::default()).await.unwrap();
    house.until_state("web", "eu-1", State::Removed).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p10_a_hub_whose_clock_is_an_hour_ahead_or_behind_serves_its_agents() {
    for off in [HOUR, -HOUR] {
        lives(House::with_clock_off(off).await, Member::new("eu-1")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p10_an_agent_whose_clock_is_an_hour_ahead_or_behind_is_served() {
    for off in [HOUR, -HOUR] {
        lives(House::open().await, Member::new("eu-1").with_clock_off(off)).await;
    }
}
