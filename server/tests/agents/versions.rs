//! Agents of other versions: they send fields that this hub does not know, and omit fields that it has added (P23).

use domain::release::ReleaseState;
use serde_json::{Value, json};

use crate::raw_agent::{RawAgent, operational_report};
use crate::test_server::TestServer;

/// Adds a field that no version knows to every object.
pub fn add_unknown_fields(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(add_unknown_fields),
        Value::Object(fields) => {
            fields.values_mut().for_each(add_unknown_fields);
            fields.insert("colour".to_owned(), json!({"name": "blue"}));
        }
        _ => {}
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p23_reports_of_an_older_and_a_newer_agent_are_accepted() {
    let server = TestServer::open().await;
    let token = server.create_auto_accept_token().await;
    for (cluster, is_newer) in [("old", false), ("new", true)] {
        let raw = RawAgent::join(&server, cluster, &token).await;
        let workload = format!("web-{cluster}");
        server.publish(&workload, "1", &[cluster]).await;
        let (desired, bundle) = raw.wait_for_release().await;
        let report = operational_report(&desired, &bundle);
        let (mut request, mut batch) = (json!({}), json!({"seq": 1, "releases": [report]}));
        if is_newer {
            request = json!({"version": "99.0.0", "capabilities": ["levitate"]});
            add_unknown_fields(&mut request);
            add_unknown_fields(&mut batch);
        }
        batch["incarnation"] = raw.post("sessions", &request).await["incarnation"].clone();
        let ack = raw.post("reports", &batch).await;
        assert_eq!(ack["accepted"], true, "{cluster}: {ack}");
        server.wait_for_state(&workload, cluster, ReleaseState::Healthy).await;
    }
}
