//! An agent that sends whatever JSON a test writes, with the certificate of its cluster.

use domain::report::{DesiredPhase, DesiredRelease};
use reqwest::header::RETRY_AFTER;
use serde_json::{Value, json};
use wire::AgentClient;
use wire::agent::JoinTokenParts;

use crate::test_server::{TestServer, join_for_certificate};

pub struct RawAgent {
    http: reqwest::Client,
    tls: rustls::ClientConfig,
    url: String,
    pub client: AgentClient,
}

/// A response of any status.
#[derive(Debug)]
pub struct RawResponse {
    pub status: u16,
    pub retry_after: Option<u64>,
    pub body: Value,
}

impl RawAgent {
    pub async fn join(server: &TestServer, cluster: &str, token: &JoinTokenParts) -> Self {
        let identity = join_for_certificate(server, cluster, token).await.unwrap();
        let stored = serde_json::to_value(&identity).unwrap();
        let text = |at: &str| stored.pointer(at).unwrap().as_str().unwrap();
        let (authority, certificate) = (text("/certificate/authority"), text("/certificate/certificate"));
        let tls = wire::tls::identity_config(authority, certificate, text("/key")).unwrap();
        let http = reqwest::Client::builder().tls_backend_preconfigured(tls.clone()).build().unwrap();
        let url = format!("{}/agent/v1", server.agent_endpoint.url);
        Self { http, tls, url, client: identity.client().unwrap() }
    }

    /// Opens a stream on a connection of its own.
    pub async fn open_stream(&self) -> reqwest::Response {
        let http = reqwest::Client::builder().tls_backend_preconfigured(self.tls.clone()).build().unwrap();
        http.get(format!("{}/stream", self.url)).send().await.unwrap()
    }

    pub async fn send(&self, path: &str, body: &Value) -> RawResponse {
        let request = self.http.post(format!("{}/{path}", self.url)).json(body);
        Self::read(request.send().await.unwrap()).await
    }

    pub async fn get(&self, path: &str) -> RawResponse {
        let request = self.http.get(format!("{}/{path}", self.url));
        Self::read(request.send().await.unwrap()).await
    }

    async fn read(response: reqwest::Response) -> RawResponse {
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after = retry_after.map(|seconds| seconds.to_str().unwrap().parse().unwrap());
        let status = response.status().as_u16();
        let body = serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default();
        RawResponse { status, retry_after, body }
    }

    /// Sends a message that the hub must accept.
    pub async fn post(&self, path: &str, body: &Value) -> Value {
        let response = self.send(path, body).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.body
    }

    /// Starts a session; returns its incarnation.
    pub async fn start_session(&self) -> i64 {
        self.post("sessions", &json!({})).await["incarnation"].as_i64().unwrap()
    }

    /// Waits until a release is desired on the cluster; returns it and the digest of its bundle.
    pub async fn wait_for_release(&self) -> (DesiredRelease, String) {
        let mut version = -1;
        let desired = loop {
            let desired = self.client.fetch_desired_state(version, true).await.unwrap();
            let Some(mut desired) = desired else { continue };
            version = desired.version;
            if let Some(release) = desired.releases.pop() {
                break release;
            }
        };
        let DesiredPhase::Present { bundle, .. } = &desired.phase else { panic!("{desired:?}") };
        let bundle = bundle.as_str().to_owned();
        (desired, bundle)
    }
}

/// A report of a complete release, with the fields of the first version only.
pub fn operational_report(desired: &DesiredRelease, bundle: &str) -> Value {
    let object = json!({"version": "v1", "kind": "ConfigMap", "namespace": "default", "name": "web"});
    let resource = json!({"ordinal": 0, "object": object, "applied": true, "health": {"status": "Healthy"}});
    let stages = ["notified", "pulled", "preflight", "applied", "pruned", "imagesPulled", "operational"];
    let stages = stages.map(|name| json!({"name": name, "state": {"state": "done"}}));
    json!({"release": desired.release, "generation": desired.generation, "applied": bundle, "stages": stages,
        "sync": "Synced", "health": {"status": "Healthy"}, "resources": [resource], "removed": false})
}
