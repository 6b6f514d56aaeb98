//! Renewal and revocation of agents' certificates.

use domain::event::EventKind;
use domain::join::{CertificateState, ClusterAgent, NewJoinToken, OnboardingStageName, OnboardingState};
use domain::page::ListQuery;
use domain::release::ReleaseState;

use crate::test_server::{TestServer, join_for_certificate, wait_until};

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_renewed_before_it_expires_without_interruption() {
    let server = TestServer::start_with_agent_lifetime(30_000).await;
    let member = server.join_cluster("eu-1").await;
    let first = member.cache.get("identity").await.unwrap();
    server.wait_for_event(EventKind::ClusterRenewed).await;
    wait_until("the new identity is cached", async || member.cache.get("identity").await.unwrap() != first)
        .await;
    let renewals = async || {
        let events = server.hub.list_events_after(0, 500).await.unwrap();
        events.iter().filter(|event| event.kind == EventKind::ClusterRenewed).count()
    };
    // Twice: by then the first certificate has expired.
    wait_until("renewed again", async || renewals().await >= 2).await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revoked_certificate_is_rejected_and_its_stream_is_closed() {
    let server = TestServer::open().await;
    let identity =
        join_for_certificate(&server, "eu-1", &server.create_auto_accept_token().await).await.unwrap();
    let client = identity.client().unwrap();
    let mut stream = client.open_stream().await.unwrap();
    assert!(stream.next().await.is_some());
    let waiting = client.clone();
    let version = client.fetch_desired_state(-1, false).await.unwrap().unwrap().version;
    let long_poll = tokio::spawn(async move { waiting.fetch_desired_state(version, true).await });
    server.hub.revoke_cluster(&server.actor, "eu-1").await.unwrap();
    let cut = async { while stream.next().await.is_some() {} };
    tokio::time::timeout(testkit::patience(), cut).await.expect("the stream ends");
    let answer = tokio::time::timeout(testkit::patience(), long_poll).await.expect("the long poll ends");
    assert!(answer.unwrap().unwrap_err().error.is_unauthenticated());
    assert!(
        client
            .send_heartbeat(&domain::report::Heartbeat::default())
            .await
            .unwrap_err()
            .error
            .is_unauthenticated()
    );
    assert!(client.start_session(&Default::default()).await.unwrap_err().error.is_unauthenticated());
    server.wait_for_condition("eu-1", "Revoked").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_16_a_cluster_shows_how_its_agent_joined_and_its_certificate_also_after_a_revocation() {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    let is_done = |agent: &ClusterAgent| agent.stages.iter().all(|one| one.state == OnboardingState::Done);
    wait_until("every stage is complete", async || is_done(&read_agent(&server).await)).await;
    let agent = read_agent(&server).await;
    assert_eq!(agent.stages.len(), OnboardingStageName::ALL.len());
    assert!(!agent.version.is_empty());
    let certificate = agent.certificate.unwrap();
    assert_eq!((certificate.state, certificate.fingerprint.len()), (CertificateState::Valid, 64));
    assert!(
        certificate.issued_at < certificate.renewal_at && certificate.renewal_at < certificate.expires_at
    );

    // A later join token of its name is that of another agent, which has not joined.
    let bound = NewJoinToken { cluster_name: Some("eu-1".to_owned()), ..NewJoinToken::default() };
    server.create_join_token(bound).await;
    assert!(is_done(&read_agent(&server).await));
    let listed = server.hub.list_clusters(&ListQuery::default()).await.unwrap();
    assert_eq!(listed.items[0].agent, None, "lists have no certificates");

    member.stop().await;
    server.hub.revoke_cluster(&server.actor, "eu-1").await.unwrap();
    let agent = read_agent(&server).await;
    let accepted = agent.stages.iter().find(|stage| stage.name == OnboardingStageName::Accepted).unwrap();
    assert_eq!(accepted.state, OnboardingState::Failed);
    let certificate = agent.certificate.unwrap();
    assert_eq!(certificate.state, CertificateState::Revoked);
    assert!(certificate.revoked_at.is_some() && !certificate.hint().is_empty());
}

async fn read_agent(server: &TestServer) -> ClusterAgent {
    server.hub.get_cluster("eu-1").await.unwrap().agent.unwrap()
}
