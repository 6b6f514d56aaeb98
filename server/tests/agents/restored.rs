//! The hub's database is put back to an older state (P24).

use domain::release::State;

use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn p24_a_hub_restored_from_a_backup_rolls_nothing_back_until_a_person_publishes() {
    let mut house = House::open().await;
    let member = house.joined("eu-1").await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    house.go_away().await;
    let backup = house.backup();
    let mut house = house.come_back().await;
    for value in ["2", "3", "4"] {
        house.publish("web", value, &["eu-1"]).await;
        member.until_value("web", Some(value)).await;
        house.until_state("web", "eu-1", State::Healthy).await;
    }
    house.go_away().await;
    let house = house.restored(&backup).await;
    house.until_message("web", "eu-1", "restored from an older backup").await;
    house.until_state("web", "eu-1", State::Blocked).await;
    assert_eq!(member.value("web").as_deref(), Some("4"));
    // Neither does an agent that begins anew.
    member.stop().await;
    member.start(None);
    house.publish("other", "1", &["eu-1"]).await;
    house.until_state("other", "eu-1", State::Healthy).await;
    house.until_message("web", "eu-1", "restored from an older backup").await;
    assert_eq!(member.value("web").as_deref(), Some("4"));

    house.publish("web", "5", &["eu-1"]).await;
    member.until_value("web", Some("5")).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    member.stop().await;
}
