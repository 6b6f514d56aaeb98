//! The hub is away, the agent is away, or both; in the end the cluster is as it is wanted.

use domain::release::State;

use crate::house::{CONFIG_MAP, House};

#[tokio::test(flavor = "multi_thread")]
async fn p3_an_agent_that_was_away_compares_the_whole_list_updates_deletes_and_creates() {
    let house = House::open().await;
    let member = house.joined("eu-1").await;
    for name in ["a", "b"] {
        house.publish(name, "1", &["eu-1"]).await;
        house.until_state(name, "eu-1", State::Healthy).await;
    }
    member.stop().await;
    house.publish("a", "2", &["eu-1"]).await;
    house.hub.workload_unpublish(&house.actor, "b", Default::default()).await.unwrap();
    house.publish("c", "1", &["eu-1"]).await;
    member.start(None);
    member.until_value("a", Some("2")).await;
    member.until_value("b", None).await;
    member.until_value("c", Some("1")).await;
    house.until_state("b", "eu-1", State::Removed).await;
    house.until_state("a", "eu-1", State::Healthy).await;
    house.until_state("c", "eu-1", State::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p5_what_is_taken_back_while_the_link_is_down_is_not_orphaned() {
    let mut house = House::open().await;
    let member = house.joined("eu-1").await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    // Nobody can dial; the verb goes to the database all the same.
    house.go_away().await;
    house.hub.workload_unpublish(&house.actor, "web", Default::default()).await.unwrap();
    assert_eq!(member.value("web").as_deref(), Some("1"));
    let house = house.come_back().await;
    member.until_value("web", None).await;
    house.until_state("web", "eu-1", State::Removed).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_the_same_agent_goes_on_after_the_hub_was_started_again() {
    let house = House::open().await;
    let member = house.joined("eu-1").await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    let house = house.come_back().await;
    house.publish("web", "2", &["eu-1"]).await;
    member.until_value("web", Some("2")).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p7_an_agent_that_waits_long_between_its_tries_asks_as_soon_as_its_stream_is_back() {
    let house = House::open().await;
    let member = house.joined("eu-1").await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    member.stop().await;
    let hour = std::time::Duration::from_secs(3600);
    member.start_with(None, agent::Options { retry_first: hour, retry_max: hour, ..member.options() });
    house.publish("web", "2", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    let house = house.come_back().await;
    house.publish("web", "3", &["eu-1"]).await;
    member.until_value("web", Some("3")).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p8_an_agent_heals_while_its_hub_is_away_also_after_a_restart() {
    let mut house = House::open().await;
    let member = house.joined("eu-1").await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    member.until_kept(1).await;
    house.go_away().await;
    member.cluster.delete(CONFIG_MAP, ("default", "web")).unwrap();
    member.until_value("web", Some("1")).await;

    member.stop().await;
    member.cluster.delete(CONFIG_MAP, ("default", "web")).unwrap();
    assert_eq!(member.value("web"), None);
    member.start(None);
    member.until_value("web", Some("1")).await;
    let changed = |object: &mut serde_json::Value| object["data"]["value"] = "by hand".into();
    member.cluster.touch(CONFIG_MAP, ("default", "web"), "kubectl-edit", changed).unwrap();
    member.until_value("web", Some("1")).await;

    // Back again, the hub hears how it is and wants something else.
    let house = house.come_back().await;
    house.publish("web", "2", &["eu-1"]).await;
    member.until_value("web", Some("2")).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    member.stop().await;
}
