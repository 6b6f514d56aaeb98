//! A certificate opens one cluster and no other.

use agent::Identity;
use domain::release::{State, Sync};
use domain::report::{Goal, ReleaseReport, ReportBatch};
use domain::{Digest, ReleaseId};
use rcgen::{CertificateParams, KeyPair};
use wire::AgentClient;
use wire::agent::{Begin, Renew};

use crate::house::{House, certificate};

async fn two(house: &House) -> [(Identity, AgentClient); 2] {
    let token = house.open_token().await;
    // One name is the beginning of the other.
    let one = certificate(house, "eu", &token).await.unwrap();
    let other = certificate(house, "eu-1", &token).await.unwrap();
    let clients = (one.client().unwrap(), other.client().unwrap());
    [(one, clients.0), (other, clients.1)]
}

fn batch(incarnation: i64, seq: i64, releases: Vec<ReleaseReport>) -> ReportBatch {
    ReportBatch { incarnation, seq, facts: None, schema: None, releases }
}

fn healthy(release: ReleaseId, generation: i64, bundle: &Digest) -> ReleaseReport {
    let mut report: ReleaseReport = serde_json::from_value(serde_json::json!({
        "release": release, "generation": generation, "stages": [], "sync": Sync::Synced,
        "health": domain::health::Health::default(), "resources": [], "gone": true,
    }))
    .unwrap();
    report.applied = Some(bundle.clone());
    report
}

#[tokio::test(flavor = "multi_thread")]
async fn p23_an_agent_cannot_read_or_report_another_clusters_anything() {
    let house = House::open().await;
    let [(one, mine), (other, theirs)] = two(&house).await;
    assert_ne!(one.cluster(), other.cluster());
    house.publish("web", "1", &["eu-1"]).await;
    let list = loop {
        let list = theirs.wants(-1, false).await.unwrap().unwrap();
        if !list.releases.is_empty() {
            break list;
        }
        theirs.wants(list.version, true).await.unwrap();
    };
    let want = &list.releases[0];
    let Goal::Present { bundle, .. } = &want.goal else { panic!("{want:?}") };
    assert!(theirs.bundle(want.release, bundle).await.is_ok());

    // Reading: neither the list nor the bundle, with the right ids in hand.
    assert_eq!(mine.wants(-1, false).await.unwrap().unwrap().releases, []);
    let missing = mine.bundle(ReleaseId::from_parts(1, 1), bundle).await.unwrap_err();
    let foreign = mine.bundle(want.release, bundle).await.unwrap_err();
    assert!(foreign.error.is_not_found());
    assert_eq!(foreign.to_string(), missing.to_string(), "a stranger's and a missing one read the same");

    // Reporting: taken as a batch, and nothing of it is believed about the other's release.
    let begun = mine.begin(&Begin::default()).await.unwrap();
    let forged = healthy(want.release, want.generation, bundle);
    assert!(mine.report(&batch(begun.incarnation, 1, vec![forged.clone()])).await.unwrap().taken);
    let page = house.hub.cluster_releases("eu-1", &Default::default()).await.unwrap();
    assert!(!matches!(page.items[0].state, State::Healthy | State::Removed), "{:?}", page.items[0].state);

    // Replays and older incarnations.
    let theirs_now = theirs.begin(&Begin::default()).await.unwrap().incarnation;
    assert!(theirs.report(&batch(theirs_now, 1, vec![])).await.unwrap().taken);
    assert!(!theirs.report(&batch(theirs_now, 1, vec![])).await.unwrap().taken, "a replay");
    let next = theirs.begin(&Begin::default()).await.unwrap().incarnation;
    assert!(next > theirs_now);
    assert!(!theirs.report(&batch(theirs_now, 2, vec![forged])).await.unwrap().taken, "an older incarnation");
    let page = house.hub.cluster_releases("eu-1", &Default::default()).await.unwrap();
    assert!(!matches!(page.items[0].state, State::Healthy | State::Removed));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_renewal_stays_with_its_cluster_whatever_the_request_says() {
    let house = House::open().await;
    let [(one, mine), (other, _)] = two(&house).await;
    let key = KeyPair::generate().unwrap();
    let mut wish = CertificateParams::default();
    wish.distinguished_name.push(rcgen::DnType::CommonName, other.cluster().unwrap().to_string());
    let csr = wish.serialize_request(&key).unwrap().pem().unwrap();
    let issued = mine.renew(&Renew { csr }).await.unwrap();
    assert_eq!(Some(issued.cluster), one.cluster());
    let tls = wire::tls::with_identity(&issued.authority, &issued.certificate, &key.serialize_pem()).unwrap();
    let renewed = AgentClient::new(&house.access.url, tls).unwrap();
    house.publish("web", "1", &["eu-1"]).await;
    assert_eq!(renewed.wants(-1, false).await.unwrap().unwrap().releases, []);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_we_did_not_write_is_worth_nothing() {
    let (house, elsewhere) = (House::open().await, House::open().await);
    let mine = certificate(&house, "eu-1", &house.open_token().await).await.unwrap();
    // The same name and the same kind of certificate, from another hub.
    let foreign = certificate(&elsewhere, "eu-1", &elsewhere.open_token().await).await.unwrap();
    let kept = |identity: &Identity| serde_json::to_value(identity).unwrap();
    let text = |value: &serde_json::Value, at: &str| value.pointer(at).unwrap().as_str().unwrap().to_owned();
    let (ours, theirs) = (kept(&mine), kept(&foreign));
    let tls = wire::tls::with_identity(
        &text(&ours, "/given/authority"),
        &text(&theirs, "/given/certificate"),
        &text(&theirs, "/key"),
    );
    let client = AgentClient::new(&house.access.url, tls.unwrap()).unwrap();
    assert!(client.heartbeat().await.is_err(), "the handshake fails");

    // Without a certificate every address but one is closed.
    let tls = wire::tls::pinned(&house.access.authority.fingerprint()).unwrap();
    let nobody = AgentClient::new(&house.access.url, tls).unwrap();
    assert!(nobody.heartbeat().await.unwrap_err().error.is_unauthenticated());
    assert!(nobody.wants(-1, false).await.unwrap_err().error.is_unauthenticated());
    assert!(nobody.stream().await.err().unwrap().error.is_unauthenticated());
}
