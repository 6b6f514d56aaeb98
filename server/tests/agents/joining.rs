//! From a token to a healthy workload, and who is not let in.

use domain::event::EventKind;
use domain::join::{NewJoinToken, RegistrationState};
use domain::release::State;

use crate::house::{House, Member, certificate, until};

#[tokio::test(flavor = "multi_thread")]
async fn s0_16_a_cluster_waits_is_accepted_joins_and_gets_its_workload() {
    let house = House::open().await;
    let token = house.token(NewJoinToken::default()).await;
    let member = Member::new("eu-1");
    member.start(Some(house.invitation("eu-1", &token)));
    house.until_event(EventKind::ClusterPending).await;
    let waiting = house.hub.registration_list().await.unwrap();
    assert_eq!((&*waiting[0].name, waiting[0].state), ("eu-1", RegistrationState::Pending));
    assert!(house.hub.cluster_view("eu-1").await.is_err(), "nothing is placed on what nobody accepted");
    let key = waiting[0].fingerprint.clone();
    assert!(house.hub.cluster_accept(&house.actor, "eu-1", Some("00")).await.is_err(), "another key");
    house.hub.cluster_accept(&house.actor, "eu-1", Some(&key)).await.unwrap();
    house.until_condition("eu-1", "AgentCame").await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    assert_eq!(member.value("web").as_deref(), Some("1"));
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_needs_no_word_lets_in_and_gives_its_labels() {
    let house = House::open().await;
    let new = NewJoinToken {
        auto_accept: true,
        labels: [("env".to_owned(), "prod".to_owned())].into(),
        ..NewJoinToken::default()
    };
    let token = house.token(new).await;
    certificate(&house, "eu-1", &token).await.unwrap();
    let cluster = house.hub.cluster_view("eu-1").await.unwrap().cluster;
    assert_eq!(cluster.labels["env"], "prod");
    let again = certificate(&house, "eu-2", &token).await.unwrap_err();
    assert!(again.contains("used up"), "{again}");
    assert!(house.hub.cluster_view("eu-2").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_is_over_revoked_wrong_or_for_another_name_lets_nobody_in() {
    let house = House::open().await;
    let auto = || NewJoinToken { auto_accept: true, ..NewJoinToken::default() };
    let revoked = house.token(auto()).await;
    house.hub.join_token_revoke(&house.actor, revoked.id).await.unwrap();
    let bound = house.token(NewJoinToken { cluster_name: Some("eu-1".to_owned()), ..auto() }).await;
    let mut guessed = house.token(auto()).await;
    guessed.secret = "00".repeat(32);
    for (name, token) in [("eu-1", &revoked), ("eu-10", &bound), ("eu", &bound), ("eu-1", &guessed)] {
        let refused = certificate(&house, name, token).await.unwrap_err();
        assert!(refused.contains("token"), "{name}: {refused}");
    }
    assert_eq!(house.hub.registration_list().await.unwrap(), []);
    certificate(&house, "eu-1", &bound).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_shows_another_authority_is_not_told_the_token() {
    let (house, other) = (House::open().await, House::open().await);
    let token = house.open_token().await;
    let folder = tempfile::tempdir().unwrap();
    let keeper = agent::keep::Keeper::new(agent::keep::Folder::open(folder.path()).unwrap());
    let mut invitation = house.invitation("eu-1", &token);
    invitation.hub = other.access.url.clone();
    let member = Member::new("eu-1");
    let mut options = member.options();
    options.keep = Some(keeper.clone());
    let asked = agent::join(&keeper, Some(&invitation), &options);
    let never = tokio::time::timeout(std::time::Duration::from_secs(1), asked).await;
    assert!(never.is_err(), "it asks again, and never gets in");
    assert_eq!(other.hub.registration_list().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_refused_stays_out_and_a_cluster_that_is_there_is_not_taken_over_by_any_token() {
    let house = House::open().await;
    let token = house.token(NewJoinToken { max_uses: 9, ..NewJoinToken::default() }).await;
    let member = Member::new("eu-1");
    member.start(Some(house.invitation("eu-1", &token)));
    house.until_event(EventKind::ClusterPending).await;
    house.hub.cluster_reject(&house.actor, "eu-1").await.unwrap();
    let waiting = house.hub.registration_list().await.unwrap();
    assert_eq!(waiting[0].state, RegistrationState::Rejected);
    assert!(house.hub.cluster_accept(&house.actor, "eu-1", None).await.is_err());
    member.stop().await;

    let open = house.open_token().await;
    certificate(&house, "eu-2", &open).await.unwrap();
    let second = tokio::time::timeout(std::time::Duration::from_secs(1), certificate(&house, "eu-2", &open));
    assert!(second.await.is_err(), "the name is taken: a person has to say so");
    until("it waits", async || {
        let waiting = house.hub.registration_list().await.unwrap();
        waiting.iter().any(|one| one.name == "eu-2" && one.state == RegistrationState::Pending)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_holds_something_is_forgotten_only_with_force() {
    let house = House::open().await;
    let member = house.joined("eu-1").await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    let refused = house.hub.cluster_delete(&house.actor, "eu-1", false).await.unwrap_err();
    assert!(refused.to_string().contains("still holds 1 workload"), "{refused}");
    house.hub.cluster_delete(&house.actor, "eu-1", true).await.unwrap();
    assert!(house.hub.cluster_view("eu-1").await.is_err());
    house.until_event(EventKind::ClusterDeleted).await;
    assert_eq!(member.value("web").as_deref(), Some("1"), "what runs there is left alone");
    member.stop().await;
}
