//! Agents of other versions: they send fields that this hub does not know, and omit fields that it has added (P23).

use agent::AgentIdentity;
use domain::release::ReleaseState;
use domain::report::DesiredPhase;
use serde_json::{Value, json};

use crate::test_server::{TestServer, join_for_certificate};

/// Sends JSON with the certificate of an agent, without the types of the agent's own version.
struct RawAgent {
    http: reqwest::Client,
    url: String,
}

impl RawAgent {
    fn new(server: &TestServer, identity: &AgentIdentity) -> Self {
        let stored = serde_json::to_value(identity).unwrap();
        let text = |at: &str| stored.pointer(at).unwrap().as_str().unwrap();
        let (authority, certificate) = (text("/certificate/authority"), text("/certificate/certificate"));
        let tls = wire::tls::identity_config(authority, certificate, text("/key")).unwrap();
        let http = reqwest::Client::builder().tls_backend_preconfigured(tls).build().unwrap();
        Self { http, url: format!("{}/agent/v1", server.agent_endpoint.url) }
    }

    async fn post(&self, path: &str, body: &Value) -> Value {
        let response = self.http.post(format!("{}/{path}", self.url)).json(body).send().await.unwrap();
        let (status, text) = (response.status(), response.text().await.unwrap());
        assert!(status.is_success(), "{path}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }
}

/// A report with the fields of the first version only.
fn report_of_an_older_version(release: &str, generation: i64, bundle: &str) -> Value {
    let object = json!({"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"});
    let resource = json!({"ordinal": 0, "object": object, "applied": true, "health": {"status": "Healthy"}});
    let stages = ["notified", "pulled", "preflight", "applied", "pruned", "imagesPulled", "operational"];
    let stages = stages.map(|name| json!({"name": name, "state": {"state": "done"}}));
    json!({"release": release, "generation": generation, "applied": bundle, "stages": stages, "sync": "Synced",
        "health": {"status": "Healthy"}, "resources": [resource], "removed": false})
}

/// Adds a field that no version knows to every object.
fn add_unknown_fields(value: &mut Value) {
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
        let identity = join_for_certificate(&server, cluster, &token).await.unwrap();
        let (client, raw) = (identity.client().unwrap(), RawAgent::new(&server, &identity));
        let workload = format!("web-{cluster}");
        server.publish(&workload, "1", &[cluster]).await;
        let mut version = -1;
        let desired = loop {
            let desired = client.fetch_desired_state(version, true).await.unwrap();
            let Some(mut desired) = desired else { continue };
            version = desired.version;
            if let Some(release) = desired.releases.pop() {
                break release;
            }
        };
        let DesiredPhase::Present { bundle, .. } = &desired.phase else { panic!("{desired:?}") };

        let report =
            report_of_an_older_version(&desired.release.to_string(), desired.generation, bundle.as_str());
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
