//! What a cluster is sent without a request, and what it fetches: a notice has a number only, everything else is pulled over connections
//! that the agent opened.

use domain::release::ReleaseState;
use serde_json::{Value, json};

use crate::raw_agent::{RawAgent, operational_report};
use crate::test_server::TestServer;

/// A text that is only in the manifests.
const CONTENT: &str = "content-of-the-manifests";

/// Reads a stream until it has had a notice of this version or a later one; returns all that it carried.
async fn read_until(stream: &mut reqwest::Response, version: i64) -> String {
    let mut text = String::new();
    let read = async {
        while versions(&text).iter().all(|sent| *sent < version) {
            let chunk = stream.chunk().await.unwrap().expect("the stream is open");
            text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    };
    tokio::time::timeout(testkit::patience(), read).await.expect("the notice arrives");
    text
}

/// The complete notices of a stream.
fn notices(text: &str) -> Vec<Value> {
    let complete = text.rsplit_once("\n\n").map_or("", |(complete, _)| complete);
    let data = complete.lines().filter_map(|line| line.strip_prefix("data:"));
    data.map(|data| serde_json::from_str(data.trim()).unwrap()).collect()
}

fn versions(text: &str) -> Vec<i64> {
    notices(text).iter().map(|notice| notice["version"].as_i64().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn s0_6_s0_7_a_notice_has_no_payload_and_the_agent_pulls_the_configuration() {
    let server = TestServer::open().await;
    let agent = RawAgent::join(&server, "eu-1", &server.create_auto_accept_token().await).await;
    let incarnation = agent.start_session().await;
    let mut stream = agent.open_stream().await;
    assert_eq!(stream.status(), 200);
    server.publish("web", CONTENT, &["eu-1"]).await;
    let (desired, digest) = agent.wait_for_release().await;
    let state = agent.client.fetch_desired_state(-1, false).await.unwrap().unwrap();

    // Pushed: a number, which says that there is something to fetch.
    let carried = read_until(&mut stream, state.version).await;
    for notice in notices(&carried) {
        let keys: Vec<&String> = notice.as_object().unwrap().keys().collect();
        assert_eq!(keys, ["version"], "{carried}");
    }
    for payload in [CONTENT, "ConfigMap", "web", digest.as_str()] {
        assert!(!carried.contains(payload), "{payload}: {carried}");
    }
    // Pulled: which bundle is desired, and then its content.
    let list = serde_json::to_string(&state).unwrap();
    assert!(list.contains(&digest) && !list.contains(CONTENT), "{list}");
    let digest_of_bundle = digest.parse().unwrap();
    let bundle = agent.client.fetch_bundle(desired.release, &digest_of_bundle).await.unwrap();
    assert!(String::from_utf8_lossy(&bundle).contains(CONTENT));
    // The agent of this test listens nowhere, so that the hub can't have connected to it; its report is all that the hub knows.
    let report =
        json!({"incarnation": incarnation, "seq": 1, "releases": [operational_report(&desired, &digest)]});
    assert_eq!(agent.post("reports", &report).await["accepted"], true);
    server.wait_for_state("web", "eu-1", ReleaseState::Healthy).await;
}
