//! Certificates: renewed in time, revoked at once.

use std::time::Duration;

use domain::event::EventKind;
use domain::release::State;

use crate::house::{House, certificate, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_renewed_before_it_ends_and_nothing_is_cut_off() {
    let house = House::with_agent_life(6_000).await;
    let member = house.joined("eu-1").await;
    let first = member.keeper.get("identity").await.unwrap();
    house.until_event(EventKind::ClusterRenewed).await;
    until("it is kept", async || member.keeper.get("identity").await.unwrap() != first).await;
    let renewals = async || {
        let events = house.hub.events_after(0, 500).await.unwrap();
        events.iter().filter(|event| event.kind == EventKind::ClusterRenewed).count()
    };
    // Twice: by now the first certificate is over.
    until("renewed again", async || renewals().await >= 2).await;
    house.publish("web", "1", &["eu-1"]).await;
    house.until_state("web", "eu-1", State::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_certificate_is_refused_and_its_live_stream_is_cut() {
    let house = House::open().await;
    let identity = certificate(&house, "eu-1", &house.open_token().await).await.unwrap();
    let client = identity.client().unwrap();
    let mut stream = client.stream().await.unwrap();
    assert!(stream.next().await.is_some());
    let waiting = client.clone();
    let version = client.wants(-1, false).await.unwrap().unwrap().version;
    let question = tokio::spawn(async move { waiting.wants(version, true).await });
    house.hub.cluster_revoke(&house.actor, "eu-1").await.unwrap();
    let cut = async { while stream.next().await.is_some() {} };
    tokio::time::timeout(Duration::from_secs(20), cut).await.expect("the stream ends");
    let answer = tokio::time::timeout(Duration::from_secs(20), question).await.expect("the question ends");
    assert!(answer.unwrap().unwrap_err().error.is_unauthenticated());
    assert!(client.heartbeat().await.unwrap_err().error.is_unauthenticated());
    assert!(client.begin(&Default::default()).await.unwrap_err().error.is_unauthenticated());
    house.until_condition("eu-1", "Revoked").await;
}
