//! Joining: from a token to a healthy workload, and rejected registrations.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use domain::cluster::ClusterFacts;
use domain::event::EventKind;
use domain::join::{NewJoinToken, RegistrationState};
use domain::release::ReleaseState;
use tokio::net::{TcpListener, TcpStream};

use wire::agent::{RegisterRequest, RegisterResponse};

use crate::test_server::{MemberCluster, TestServer, join_for_certificate, wait_until};

/// Forwards connections to the agents' listener of this hub, and counts them.
async fn start_counting_proxy(server: &TestServer) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, connections) = (listener.local_addr().unwrap(), Arc::<AtomicU64>::default());
    let (hub, counter) = (server.agent_endpoint.url.replace("https://", ""), connections.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            let mut forwarded = TcpStream::connect(&hub).await.unwrap();
            tokio::spawn(async move { tokio::io::copy_bidirectional(&mut stream, &mut forwarded).await });
        }
    });
    (address, connections)
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_16_a_pending_cluster_is_accepted_joins_and_receives_its_workload() {
    let server = TestServer::open().await;
    let token = server.create_join_token(NewJoinToken::default()).await;
    let member = MemberCluster::new("eu-1");
    member.start(Some(server.join_config("eu-1", &token)));
    server.wait_for_event(EventKind::ClusterPending).await;
    let registrations = server.hub.list_registrations().await.unwrap();
    assert_eq!((&*registrations[0].name, registrations[0].state), ("eu-1", RegistrationState::Pending));
    assert!(
        server.hub.get_cluster("eu-1").await.is_err(),
        "a pending cluster does not exist for the placement"
    );
    let key = registrations[0].fingerprint.clone();
    assert!(server.hub.accept_cluster(&server.actor, "eu-1", Some("00")).await.is_err(), "another key");
    server.hub.accept_cluster(&server.actor, "eu-1", Some(&key)).await.unwrap();
    let events = server.hub.list_events_after(0, 500).await.unwrap();
    let accepted = events.iter().find(|event| event.kind == EventKind::ClusterAccepted).unwrap();
    let confirmed = "The facts that it reports were confirmed: kubernetesVersion v1.33.4, before none";
    assert!(accepted.message.contains(confirmed), "{}", accepted.message);
    server.wait_for_condition("eu-1", "AgentConnected").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    assert_eq!(member.config_value("web").as_deref(), Some("1"));
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_auto_accept_token_joins_a_cluster_with_its_labels() {
    let server = TestServer::open().await;
    let new = NewJoinToken {
        auto_accept: true,
        labels: [("env".to_owned(), "prod".to_owned())].into(),
        ..NewJoinToken::default()
    };
    let token = server.create_join_token(new).await;
    join_for_certificate(&server, "eu-1", &token).await.unwrap();
    let cluster = server.hub.get_cluster("eu-1").await.unwrap().cluster;
    assert_eq!(cluster.labels["env"], "prod");
    let again = join_for_certificate(&server, "eu-2", &token).await.unwrap_err();
    assert!(again.contains("used up"), "{again}");
    assert!(server.hub.get_cluster("eu-2").await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expired_revoked_wrong_or_otherwise_bound_token_is_rejected() {
    let server = TestServer::open().await;
    let auto = || NewJoinToken { auto_accept: true, ..NewJoinToken::default() };
    let expired = server.create_join_token(NewJoinToken { minutes: 5, max_uses: 2, ..auto() }).await;
    join_for_certificate(&server, "eu-0", &expired).await.unwrap();
    server.advance_clock(Duration::from_secs(5 * 60 + 1));
    let revoked = server.create_join_token(auto()).await;
    server.hub.revoke_join_token(&server.actor, revoked.id).await.unwrap();
    let bound =
        server.create_join_token(NewJoinToken { cluster_name: Some("eu-1".to_owned()), ..auto() }).await;
    let mut guessed = server.create_join_token(auto()).await;
    guessed.secret = "00".repeat(32);
    let rejected =
        [("eu-1", &expired), ("eu-1", &revoked), ("eu-10", &bound), ("eu", &bound), ("eu-1", &guessed)];
    for (name, token) in rejected {
        let refused = join_for_certificate(&server, name, token).await.unwrap_err();
        assert!(refused.contains("token"), "{name}: {refused}");
        assert!(server.hub.get_cluster(name).await.is_err(), "{name}");
    }
    assert_eq!(server.hub.list_registrations().await.unwrap(), []);
    join_for_certificate(&server, "eu-1", &bound).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_is_not_sent_to_a_hub_with_another_authority() {
    let (server, other) = (TestServer::open().await, TestServer::open().await);
    let token = server.create_auto_accept_token().await;
    let folder = tempfile::tempdir().unwrap();
    let keeper = agent::cache::SharedCache::new(agent::cache::DiskCache::open(folder.path()).unwrap());
    let (proxy, connections) = start_counting_proxy(&other).await;
    let mut join_config = server.join_config("eu-1", &token);
    join_config.hub = format!("https://{proxy}");
    let member = MemberCluster::new("eu-1");
    let mut options = member.options();
    options.cache = Some(keeper.clone());
    tokio::select! {
        joined = agent::join(&keeper, Some(&join_config), &options, None) => panic!("joined: {}", joined.is_ok()),
        () = wait_until("it has tried three times", async || connections.load(Ordering::SeqCst) > 3) => {}
    }
    assert_eq!(other.hub.list_registrations().await.unwrap(), []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_agent_stays_rejected_and_no_token_takes_over_an_existing_cluster() {
    let server = TestServer::open().await;
    let token = server.create_join_token(NewJoinToken { max_uses: 9, ..NewJoinToken::default() }).await;
    let member = MemberCluster::new("eu-1");
    member.start(Some(server.join_config("eu-1", &token)));
    server.wait_for_event(EventKind::ClusterPending).await;
    server.hub.reject_cluster(&server.actor, "eu-1").await.unwrap();
    let registrations = server.hub.list_registrations().await.unwrap();
    assert_eq!(registrations[0].state, RegistrationState::Rejected);
    assert!(server.hub.accept_cluster(&server.actor, "eu-1", None).await.is_err());
    member.stop().await;

    let open = server.create_auto_accept_token().await;
    join_for_certificate(&server, "eu-2", &open).await.unwrap();
    let is_pending = async || {
        let registrations = server.hub.list_registrations().await.unwrap();
        registrations.iter().any(|one| one.name == "eu-2" && one.state == RegistrationState::Pending)
    };
    tokio::select! {
        joined = join_for_certificate(&server, "eu-2", &open) => panic!("joined: {}", joined.is_ok()),
        // The name exists: a person has to accept it.
        () = wait_until("the registration is pending", is_pending) => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_with_releases_is_deleted_only_with_force() {
    let server = TestServer::open().await;
    let member = server.join_cluster("eu-1").await;
    server.publish("web", "1", &["eu-1"]).await;
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
    let refused = server.hub.delete_cluster(&server.actor, "eu-1", false).await.unwrap_err();
    assert!(refused.to_string().contains("still has 1 workload"), "{refused}");
    server.hub.delete_cluster(&server.actor, "eu-1", true).await.unwrap();
    assert!(server.hub.get_cluster("eu-1").await.is_err());
    server.wait_for_event(EventKind::ClusterDeleted).await;
    assert_eq!(member.config_value("web").as_deref(), Some("1"), "its objects stay");
    member.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_waits_gets_its_certificate_when_it_is_accepted_and_not_with_its_next_request() {
    let server = TestServer::open().await;
    let token = server.create_join_token(NewJoinToken::default()).await;
    let tls = wire::tls::pinned_config(&token.authority).unwrap();
    let client = wire::AgentClient::new(&server.agent_endpoint.url, tls).unwrap();
    let key = rcgen::KeyPair::generate().unwrap();
    let csr = rcgen::CertificateParams::default().serialize_request(&key).unwrap().pem().unwrap();
    let request = RegisterRequest {
        token: token.to_string(),
        name: "eu-1".to_owned(),
        csr,
        facts: ClusterFacts::default(),
    };
    let first = tokio::spawn(async move { client.register(&request).await });
    server.wait_for_event(EventKind::ClusterPending).await;
    assert_eq!(onboarding_states(&server).await, "ddwppp");
    assert!(!first.is_finished(), "the response waits for the decision");
    server.hub.accept_cluster(&server.actor, "eu-1", None).await.unwrap();
    let response = first.await.unwrap().unwrap();
    assert!(matches!(response, RegisterResponse::Joined(_)), "{response:?}");
    assert_eq!(onboarding_states(&server).await, "ddddwp");
}

/// The first letters of the states of the stages of `eu-1`.
async fn onboarding_states(server: &TestServer) -> String {
    let onboarding = server.hub.get_onboarding("eu-1").await.unwrap();
    onboarding.stages.iter().map(|stage| stage.state.as_str().chars().next().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_16_the_stages_of_a_cluster_that_joins_end_when_it_is_online() {
    let server = TestServer::open().await;
    assert!(server.hub.get_onboarding("eu-1").await.is_err(), "nothing is known of this name");
    let bound = NewJoinToken { cluster_name: Some("eu-1".to_owned()), ..NewJoinToken::default() };
    let token = server.create_join_token(bound).await;
    assert_eq!(onboarding_states(&server).await, "dwpppp");
    let member = MemberCluster::new("eu-1");
    member.start(Some(server.join_config("eu-1", &token)));
    server.wait_for_event(EventKind::ClusterPending).await;
    let onboarding = server.hub.get_onboarding("eu-1").await.unwrap();
    assert!(onboarding.pending.is_some() && !onboarding.is_foreign);
    server.hub.accept_cluster(&server.actor, "eu-1", None).await.unwrap();
    wait_until("it is online", async || onboarding_states(&server).await == "dddddd").await;
    member.stop().await;
}
