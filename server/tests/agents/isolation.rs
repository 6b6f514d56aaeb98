//! A certificate gives access to one cluster only.

use agent::AgentIdentity;
use domain::release::{ReleaseState, SyncStatus};
use domain::report::{DesiredPhase, ReleaseReport, ReportBatch};
use domain::{Digest, ReleaseId};
use rcgen::{CertificateParams, KeyPair};
use wire::AgentClient;
use wire::agent::{RenewRequest, SessionRequest};

use crate::test_server::{TestServer, join_for_certificate};

async fn join_two_clusters(server: &TestServer) -> [(AgentIdentity, AgentClient); 2] {
    let token = server.create_auto_accept_token().await;
    // One name is a prefix of the other.
    let one = join_for_certificate(server, "eu", &token).await.unwrap();
    let other = join_for_certificate(server, "eu-1", &token).await.unwrap();
    let clients = (one.client().unwrap(), other.client().unwrap());
    [(one, clients.0), (other, clients.1)]
}

fn report_batch(incarnation: i64, seq: i64, releases: Vec<ReleaseReport>) -> ReportBatch {
    ReportBatch { incarnation, seq, facts: None, schema: None, leftovers: None, releases }
}

fn healthy_report(release: ReleaseId, generation: i64, bundle: &Digest) -> ReleaseReport {
    let mut report: ReleaseReport = serde_json::from_value(serde_json::json!({
        "release": release, "generation": generation, "stages": [], "sync": SyncStatus::Synced,
        "health": domain::health::Health::default(), "resources": [], "removed": true,
    }))
    .unwrap();
    report.applied = Some(bundle.clone());
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_cannot_read_or_report_anything_of_another_cluster() {
    let server = TestServer::open().await;
    let [(one, mine), (other, theirs)] = join_two_clusters(&server).await;
    assert_ne!(one.cluster(), other.cluster());
    server.publish("web", "1", &["eu-1"]).await;
    let list = loop {
        let list = theirs.fetch_desired_state(-1, false).await.unwrap().unwrap();
        if !list.releases.is_empty() {
            break list;
        }
        theirs.fetch_desired_state(list.version, true).await.unwrap();
    };
    let want = &list.releases[0];
    let DesiredPhase::Present { bundle, .. } = &want.phase else { panic!("{want:?}") };
    assert!(theirs.fetch_bundle(want.release, bundle).await.is_ok());

    // Reading: neither the desired state nor the bundle, even with valid ids.
    assert_eq!(mine.fetch_desired_state(-1, false).await.unwrap().unwrap().releases, []);
    let missing = mine.fetch_bundle(ReleaseId::from_parts(1, 1), bundle).await.unwrap_err();
    let foreign = mine.fetch_bundle(want.release, bundle).await.unwrap_err();
    assert!(foreign.error.is_not_found());
    assert_eq!(
        foreign.to_string(),
        missing.to_string(),
        "a foreign and a missing bundle have the same error"
    );

    // Reporting: the batch is accepted, and its report on the other's release is ignored.
    let begun = mine.start_session(&SessionRequest::default()).await.unwrap();
    let forged = healthy_report(want.release, want.generation, bundle);
    assert!(
        mine.send_reports(&report_batch(begun.incarnation, 1, vec![forged.clone()])).await.unwrap().accepted
    );
    let page = server.hub.list_cluster_releases("eu-1", &Default::default()).await.unwrap();
    assert!(
        !matches!(page.items[0].state, ReleaseState::Healthy | ReleaseState::Removed),
        "{:?}",
        page.items[0].state
    );

    // Replays and older incarnations.
    let theirs_now = theirs.start_session(&SessionRequest::default()).await.unwrap().incarnation;
    assert!(theirs.send_reports(&report_batch(theirs_now, 1, vec![])).await.unwrap().accepted);
    assert!(!theirs.send_reports(&report_batch(theirs_now, 1, vec![])).await.unwrap().accepted, "a replay");
    let next = theirs.start_session(&SessionRequest::default()).await.unwrap().incarnation;
    assert!(next > theirs_now);
    assert!(
        !theirs.send_reports(&report_batch(theirs_now, 2, vec![forged])).await.unwrap().accepted,
        "an older incarnation"
    );
    let page = server.hub.list_cluster_releases("eu-1", &Default::default()).await.unwrap();
    assert!(!matches!(page.items[0].state, ReleaseState::Healthy | ReleaseState::Removed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewed_certificate_is_for_the_same_cluster_whatever_the_request_names() {
    let server = TestServer::open().await;
    let [(one, mine), (other, _)] = join_two_clusters(&server).await;
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::CommonName, other.cluster().unwrap().to_string());
    let csr = params.serialize_request(&key).unwrap().pem().unwrap();
    let issued = mine.renew_certificate(&RenewRequest { csr }).await.unwrap();
    assert_eq!(Some(issued.cluster), one.cluster());
    let tls =
        wire::tls::identity_config(&issued.authority, &issued.certificate, &key.serialize_pem()).unwrap();
    let renewed = AgentClient::new(&server.agent_endpoint.url, tls).unwrap();
    server.publish("web", "1", &["eu-1"]).await;
    assert_eq!(renewed.fetch_desired_state(-1, false).await.unwrap().unwrap().releases, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_of_another_authority_is_rejected() {
    let (server, elsewhere) = (TestServer::open().await, TestServer::open().await);
    let mine = join_for_certificate(&server, "eu-1", &server.create_auto_accept_token().await).await.unwrap();
    // The same name and the same kind of certificate, from another hub.
    let foreign =
        join_for_certificate(&elsewhere, "eu-1", &elsewhere.create_auto_accept_token().await).await.unwrap();
    let to_json = |identity: &AgentIdentity| serde_json::to_value(identity).unwrap();
    let text = |value: &serde_json::Value, at: &str| value.pointer(at).unwrap().as_str().unwrap().to_owned();
    let (ours, theirs) = (to_json(&mine), to_json(&foreign));
    let tls = wire::tls::identity_config(
        &text(&ours, "/certificate/authority"),
        &text(&theirs, "/certificate/certificate"),
        &text(&theirs, "/key"),
    );
    let client = AgentClient::new(&server.agent_endpoint.url, tls.unwrap()).unwrap();
    assert!(
        client.send_heartbeat(&domain::report::Heartbeat::default()).await.is_err(),
        "the handshake fails"
    );

    // Without a certificate every route but one is rejected.
    let tls = wire::tls::pinned_config(&server.agent_endpoint.authority.fingerprint()).unwrap();
    let nobody = AgentClient::new(&server.agent_endpoint.url, tls).unwrap();
    assert!(
        nobody
            .send_heartbeat(&domain::report::Heartbeat::default())
            .await
            .unwrap_err()
            .error
            .is_unauthenticated()
    );
    assert!(nobody.fetch_desired_state(-1, false).await.unwrap_err().error.is_unauthenticated());
    assert!(nobody.open_stream().await.err().unwrap().error.is_unauthenticated());
}
